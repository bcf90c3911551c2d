#ifndef NORMLAB_CORE_RECORD_H_
#define NORMLAB_CORE_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

// What a trainer says about itself, record by record; the same bytes travel in the pipe, lie in the
// attempt log and go to the server. Layout: core/record.cc. Doubles keep their bits, NaN payloads
// included. Steps count from 1; step 0 is before training.

namespace normlab {

struct HelloRecord {  // 1: first record of an attempt
  int32_t protocol = 0;
  std::string build;
  int32_t trainer_math = 0;
  std::string torch;
  std::string isa;  // instruction set: "avx2", "avx512+bf16" …
  int32_t threads = 0;
  std::string device;  // "cpu", "cuda:0"
  int64_t pid = 0;
  int64_t resumed_from_step = -1;  // -1: started from scratch
  std::string started_at;          // ISO 8601, UTC
  friend bool operator==(const HelloRecord&, const HelloRecord&) = default;
};

struct ScalarsRecord {  // 2: numbers of one step: train_loss, grad_norm, lr, tokens_per_s …
  int64_t step = 0;
  std::vector<std::pair<std::string, double>> values;
  friend bool operator==(const ScalarsRecord&, const ScalarsRecord&) = default;
};

struct ProfileRecord {  // 3: one vector over depth
  int64_t step = 0;
  std::string key;
  int32_t first_index = 0;  // depth of values[0]: 0 for hidden_ma, 1 for angle
  std::vector<double> values;
  friend bool operator==(const ProfileRecord&, const ProfileRecord&) = default;
};

struct EventRecord {  // 4: something that happened, as the trainer saw it
  int64_t step = 0;
  std::string kind;
  std::string detail_json;  // an object
  friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

struct EvalRecord {  // 5: on the fixed validation set, nats per token
  int64_t step = 0;
  double val_loss = 0;
  double ppl_of_mean = 0;
  double mean_seq_ppl = 0;
  friend bool operator==(const EvalRecord&, const EvalRecord&) = default;
};

struct CheckpointRecord {  // 6: written only after the checkpoint is synced
  int64_t step = 0;
  std::string dir;
  std::string sha256;
  int64_t bytes = 0;
  friend bool operator==(const CheckpointRecord&, const CheckpointRecord&) = default;
};

struct LogLineRecord {  // 7: one line of the trainer's standard error
  std::string text;
  friend bool operator==(const LogLineRecord&, const LogLineRecord&) = default;
};

struct LostRecord {  // 8: records that could not be kept, and why
  int64_t count = 0;
  std::string reason;
  friend bool operator==(const LostRecord&, const LostRecord&) = default;
};

struct ExitRecord {  // 9: last record of an attempt, added by whoever waited for the process
  int32_t exit_code = 0;
  int32_t signal = 0;
  std::string reason;      // a FailureKind's text, or ""
  std::string stopped_by;  // rule of the stop policy, or ""
  int64_t max_rss_bytes = 0;
  double wall_s = 0;
  double cpu_s = 0;
  std::vector<std::string> last_lines;
  int64_t last_step = 0;  // last finished optimiser step
  friend bool operator==(const ExitRecord&, const ExitRecord&) = default;
};

using Record = std::variant<HelloRecord, ScalarsRecord, ProfileRecord, EventRecord, EvalRecord,
                            CheckpointRecord, LogLineRecord, LostRecord, ExitRecord>;

std::string EncodeRecord(const Record& record);

// DataLoss for an unknown type, a field that is cut short, or bytes left over.
absl::StatusOr<Record> DecodeRecord(std::string_view bytes);

// Longest record that frames and logs accept.
inline constexpr uint32_t kMaxRecordBytes = 16u << 20;

}  // namespace normlab

#endif  // NORMLAB_CORE_RECORD_H_
