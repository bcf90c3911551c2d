#ifndef NORMLAB_TESTS_WORKER_WORKER_BUILDERS_H_
#define NORMLAB_TESTS_WORKER_WORKER_BUILDERS_H_

#include <memory>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/dataset.h"
#include "core/envelope.h"
#include "core/file.h"
#include "core/json.h"
#include "core/record.h"
#include "core/status.h"
#include "core/token_header.h"
#include "nlohmann/json.hpp"
#include "proto/control.pb.h"
#include "worker/attempt_store.h"

// Makers of what a worker test needs, with defaults for everything that it does not care about.

namespace normlab::worker {

inline AttemptIdentity Identity(int64_t run, uint64_t token = 0, int attempt = 1) {
  return {RunId(run), AttemptNumber(attempt), LeaseToken(token != 0 ? token : 0x1000 + run)};
}

inline Envelope EnvelopeFor(int64_t run, const std::string& dataset = "kjv") {
  Envelope envelope;
  envelope.run = RunId(run);
  envelope.token = Identity(run).token;
  envelope.dataset.name = dataset;
  envelope.dataset.sha256 = std::string(64, 'a');
  return envelope;
}

// An attempt that the server wants this worker to start.
inline v1::DesiredAttempt Desired(int64_t run, const std::string& dataset = "kjv") {
  v1::DesiredAttempt desired;
  desired.set_run(run);
  desired.set_attempt(1);
  desired.set_token(Identity(run).token.value());
  desired.set_envelope_json(DumpStrict(ToJson(EnvelopeFor(run, dataset))));
  return desired;
}

inline ScalarsRecord Loss(int64_t step, double loss = 1.0) {
  return ScalarsRecord{step, {{"train_loss", loss}}};
}

// Everything in an attempt's log, decoded.
inline std::vector<Record> RecordsIn(const std::string& dir) {
  auto reader = AttemptLogReader::Open(dir);
  CHECK_OK(reader.status());
  const auto read = (*reader)->ReadFrom(1, 1 << 30);
  CHECK_OK(read.status());
  std::vector<Record> records;
  for (const SeqRecord& each : *read) {
    auto record = DecodeRecord(each.bytes);
    CHECK_OK(record.status());
    records.push_back(*std::move(record));
  }
  return records;
}

// The records of one type, in their order.
template <typename T>
std::vector<T> Only(const std::vector<Record>& records) {
  std::vector<T> only;
  for (const Record& record : records) {
    if (const T* one = std::get_if<T>(&record)) only.push_back(*one);
  }
  return only;
}

// A data set of a few tokens whose meta.json claims the digest `sha256`: enough for whoever looks
// at names and sizes only.
inline absl::Status PlaceTinyDataset(const std::string& dir, const std::string& name,
                                     const std::string& sha256) {
  DatasetMeta meta;
  meta.name = name;
  meta.vocab = 256;
  meta.train_tokens = 4;
  meta.val_tokens = 4;
  meta.tokenizer = "bytes";
  meta.sha256 = sha256;
  RETURN_IF_ERROR(MakeDirs(dir));
  const std::string header = TokenFileHeader(4);
  const std::string tokens = header + std::string(8, 'x');
  RETURN_IF_ERROR(WriteFileDurably(JoinPath(dir, "train.bin"), tokens));
  RETURN_IF_ERROR(WriteFileDurably(JoinPath(dir, "val.bin"), tokens));
  return WriteFileDurably(JoinPath(dir, "meta.json"), DumpStrict(ToJson(meta)));
}

}  // namespace normlab::worker

#endif  // NORMLAB_TESTS_WORKER_WORKER_BUILDERS_H_
