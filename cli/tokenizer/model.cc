#include "cli/tokenizer/model.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <unordered_map>

namespace normlab::tokenizer {

namespace {

constexpr int64_t kLearnBytes = 32 << 20;

// The library's reason follows the place in its source and the condition that failed.
void Check(const sentencepiece::util::Status& status, const std::string& what) {
  if (status.ok()) return;
  std::string reason = status.ToString();
  if (const size_t place = reason.rfind("] "); place != std::string::npos) {
    reason.erase(0, place + 2);
  }
  throw std::runtime_error(what + ": " + reason);
}

// Hands lines to the library, which calls them sentences.
class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(std::vector<Span> spans) : reader_(std::move(spans)) { Next(); }
  bool done() const override { return done_; }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

  void Next() override {
    // Line ends are an entry of their own from the start, and an empty line teaches nothing.
    do {
      done_ = !reader_.Next(line_);
      if (!line_.empty() && line_.back() == '\n') line_.pop_back();
    } while (!done_ && line_.empty());
  }

 private:
  LineReader reader_;
  std::string line_;
  bool done_ = false;
};

}  // namespace

void Learn(const std::vector<Span>& text, int64_t vocab, const std::string& path) {
  const std::unordered_map<std::string, std::string> options = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(vocab)},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"add_dummy_prefix", "false"},
      {"byte_fallback", "true"},
      {"user_defined_symbols", "\n"},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"max_sentence_length", std::to_string(2 * kLongestLine)},
      {"num_threads", "1"},
      {"minloglevel", "2"},
  };
  Lines lines(Sample(text, kLearnBytes));
  std::string model;
  Check(sentencepiece::SentencePieceTrainer::Train(options, &lines, &model),
        "SentencePiece could not learn a vocabulary of " + std::to_string(vocab));
  std::ofstream file(path, std::ios::binary);
  if (!file.write(model.data(), static_cast<std::streamsize>(model.size())).flush()) {
    throw std::runtime_error(path + ": cannot be written");
  }
}

class Model::Impl {
 public:
  sentencepiece::SentencePieceProcessor processor;
};

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::Load(const std::string& path) {
  if (!std::ifstream(path)) throw std::runtime_error(path + ": " + std::strerror(errno));
  auto impl = std::make_unique<Impl>();
  if (!impl->processor.Load(path).ok()) {
    throw std::runtime_error(path + ": not a SentencePiece model");
  }
  return Model(std::move(impl));
}

int64_t Model::vocab() const { return impl_->processor.GetPieceSize(); }

void Model::Encode(std::string_view text, std::vector<int>& ids) const {
  std::vector<int> piece;
  Check(impl_->processor.Encode(text, &piece), "SentencePiece");
  ids.insert(ids.end(), piece.begin(), piece.end());
}

std::string Model::Decode(const std::vector<int>& ids) const {
  std::string text;
  Check(impl_->processor.Decode(ids, &text), "SentencePiece");
  return text;
}

bool Model::EndsLine(int id) const { return impl_->processor.IdToPiece(id) == "\n"; }

}  // namespace normlab::tokenizer
