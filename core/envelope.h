#ifndef NORMLAB_CORE_ENVELOPE_H_
#define NORMLAB_CORE_ENVELOPE_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/detect/stop_policy.h"
#include "core/ids.h"
#include "core/run_config.h"

namespace normlab {

// All that a trainer is told: the config, and beside it (never in it) the bookkeeping.
struct Envelope {
  struct Dataset {
    std::string name;
    std::string dir;  // filled in by the worker
    std::string sha256;
    friend bool operator==(const Dataset&, const Dataset&) = default;
  };
  struct Resume {
    // An attempt before, along the line of parents, and the last step that the line has of it.
    struct Ancestor {
      AttemptNumber attempt;
      int64_t step = 0;
      friend bool operator==(const Ancestor&, const Ancestor&) = default;
    };
    std::string dir;  // of a checkpoint: …/RUN/ATTEMPT/STEP
    int64_t step = 0;
    AttemptNumber attempt;  // that wrote it
    // Newest first. Their checkpoints up to those steps serve where that one is lost.
    std::vector<Ancestor> ancestors = {};
    friend bool operator==(const Resume&, const Resume&) = default;
  };

  int protocol = kProtocolVersion;
  RunId run;
  AttemptNumber attempt{1};
  LeaseToken token;
  RunConfig config;
  StopPolicy stop;
  Dataset dataset;
  std::optional<Resume> resume;
  int threads = 1;
  std::string device = "cpu";  // "cpu" or "cuda:0"
  std::string checkpoint_dir;
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

nlohmann::json ToJson(const Envelope& envelope);

// FailedPrecondition for another protocol version, InvalidArgument for anything else that is wrong.
absl::StatusOr<Envelope> EnvelopeFromJson(const nlohmann::json& document);

}  // namespace normlab

#endif  // NORMLAB_CORE_ENVELOPE_H_
