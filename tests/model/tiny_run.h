// A model small enough for a test, and a data set to train it on.
#ifndef NORMLAB_TESTS_MODEL_TINY_RUN_H_
#define NORMLAB_TESTS_MODEL_TINY_RUN_H_

#include <string>
#include <vector>

#include "core/check.h"
#include "core/dataset_prepare.h"
#include "core/file.h"
#include "core/record.h"
#include "core/run_config.h"
#include "model/record_sink.h"
#include "model/train_loop.h"
#include "tests/builders/temp_dir.h"

namespace normlab::model {

// Every record that a run wrote, in order.
class RecordingSink : public RecordSink {
 public:
  absl::Status Write(const Record& record) override {
    records.push_back(record);
    return absl::OkStatus();
  }
  absl::Status Sync() override { return absl::OkStatus(); }

  template <typename T>
  std::vector<T> All() const {
    std::vector<T> out;
    for (const Record& record : records) {
      if (const T* found = std::get_if<T>(&record)) out.push_back(*found);
    }
    return out;
  }

  std::vector<Record> records;
};

inline RunConfig TinyConfig(const std::string& placement) {
  RunConfig config;
  const std::pair<const char*, const char*> settings[] = {
      {"model.layers", "2"},   {"model.width", "16"},      {"model.heads", "2"},
      {"model.seq_len", "12"}, {"train.batch", "4"},       {"train.steps", "40"},
      {"train.warmup", "4"},   {"train.lr", "0.01"},       {"eval.every", "10"},
      {"eval.batches", "1"},   {"train.precision", "fp32"}};
  for (const auto& [key, text] : settings) CHECK_OK(config.Parse(key, text));
  CHECK_OK(config.Parse("norm.placement", placement));
  return config;
}

inline ModelSpec TinySpec(const std::string& placement, const std::string& precision = "fp64",
                          int64_t vocab = 29) {
  RunConfig config = TinyConfig(placement);
  CHECK_OK(config.Parse("train.precision", precision));
  return MakeModelSpec(config, vocab);
}

// Prepares `text` as the data set `name`; returns its folder.
inline std::string TextDataset(const TempDir& dir, const std::string& name,
                               const std::string& text) {
  const std::string file = dir.File(name + ".txt");
  CHECK_OK(WriteFileDurably(file, text));
  PrepareOptions options;
  options.name = name;
  options.datasets_dir = dir.path();
  options.files = {file};
  CHECK_OK(PrepareDataset(options).status());
  return dir.File(name);
}

// A data set of a repeated sentence; returns its folder.
inline std::string TinyDataset(const TempDir& dir, int sentences = 80) {
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    text += "In the beginning was the word " + std::to_string(i * i % 97) + ". ";
  }
  return TextDataset(dir, "tiny", text);
}

}  // namespace normlab::model

#endif  // NORMLAB_TESTS_MODEL_TINY_RUN_H_
