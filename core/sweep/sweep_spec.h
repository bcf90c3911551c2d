#ifndef NORMLAB_CORE_SWEEP_SWEEP_SPEC_H_
#define NORMLAB_CORE_SWEEP_SWEEP_SPEC_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/detect/stop_policy.h"
#include "core/knob.h"
#include "core/run_config.h"

namespace normlab {

// Where something was written; line 0: nowhere (it came from the command line or the wire).
struct SourcePosition {
  int line = 0;
  int column = 0;
};

struct SpecError {
  std::string file;  // "-S" for something from the command line
  int line = 0;
  int column = 0;
  std::string message;  // one line: what was found; what would be right
  // "file:line:column: message", without what is not known.
  std::string ToString() const;
};

struct Factor {
  std::string key;
  std::vector<KnobValue> levels;  // all different
  SourcePosition position;
};

// Settings of some factors at once: an exclusion or the baseline.
struct Setting {
  std::vector<std::pair<std::string, KnobValue>> values;
  SourcePosition position;
};

struct Primary {  // what a sweep is to decide; everything else is exploratory
  std::string metric = "val_loss";
  std::string contrast;  // a factor
  double alpha = 0.05;
};

struct Budget {  // per run
  int64_t failures = 2;
  int64_t preemptions = -1;  // -1: unlimited
  double time_s = 0;         // 0: unlimited
  double stall_s = 600;      // no step for so long: ended as timeout; 0: never
};

struct Resources {  // per run
  int64_t gpus = 0;
  int64_t cpus = 1;
  int64_t memory_bytes = 0;  // 0: not asked for
};

// One sweep file, read and checked.
class SweepSpec {
 public:
  std::string name;
  RunConfig base;
  std::vector<Factor> factors;                // in order
  std::vector<std::vector<std::string>> zip;  // groups of factors that move together
  std::vector<Setting> exclude;
  std::string replicate_key = "seed";  // or seed.init, seed.data
  std::vector<int64_t> seeds = {1};
  Setting baseline;  // factors it does not name: their first level
  StopPolicy stop;
  std::optional<Primary> primary;
  Budget budget;
  Resources resources;
  // Where each part of the file ("base", "zip" …) and each knob in `base` was written.
  std::map<std::string, SourcePosition, std::less<>> positions;

  // Reads YAML or JSON. On failure `errors` has every fault of the file, sorted by place, and
  // nothing is returned. `filename` is only for messages.
  static std::optional<SweepSpec> ParseYaml(std::string_view text, std::string_view filename,
                                            std::vector<SpecError>& errors);
  // The same from disk; a file that cannot be read is one error.
  static std::optional<SweepSpec> ParseFile(const std::string& path,
                                            std::vector<SpecError>& errors);

  // "key=v1,v2": replaces a factor's levels in its place, or adds a factor at the end. One value
  // also makes a factor with one level. Call Check() afterwards.
  absl::Status ApplyOverride(std::string_view text);
  // Seeds 1 … n.
  absl::Status SetSeeds(int64_t n);
  absl::Status SetName(std::string_view name);

  // What holds between the parts: zip lengths, baseline and exclusions against the levels, every
  // combination a possible config, a data set named. ParseYaml has done it; after overrides do it
  // again.
  std::vector<SpecError> Check(std::string_view filename) const;
  // Odd but allowed: an exclusion that matches nothing.
  std::vector<std::string> Warnings() const;

  // What goes over the wire and is stored; FromJson(ToJson()) is equal, positions aside.
  nlohmann::json ToJson() const;
  static absl::StatusOr<SweepSpec> FromJson(const nlohmann::json& document);

  const Factor* FindFactor(std::string_view key) const;
};

}  // namespace normlab

#endif  // NORMLAB_CORE_SWEEP_SWEEP_SPEC_H_
