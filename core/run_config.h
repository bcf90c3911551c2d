#ifndef NORMLAB_CORE_RUN_CONFIG_H_
#define NORMLAB_CORE_RUN_CONFIG_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/knob.h"
#include "core/version.h"

namespace normlab {

struct ConfigError {
  std::string key;             // dotted; may name a knob that does not exist
  std::string message;         // one line, without the key
  std::string other_key = {};  // the knob that it does not fit, if any
};

// Everything that decides what one run computes: a value for every knob of core/knob.h. Knobs that
// nobody set take their default, which may depend on the preset, the placement or other knobs.
// A plain value; const access is thread-safe.
class RunConfig {
 public:
  RunConfig() = default;

  // Reads {"norm": {"placement": "geo"}} or {"norm.placement": "geo"} or a mixture. Adds one entry
  // to `errors` for every unknown key, wrong type or value out of range; what is right is kept.
  static RunConfig FromJson(const nlohmann::json& document, std::vector<ConfigError>& errors);
  // The same with Validate(); InvalidArgument joins all errors, one a line ("key: message").
  static absl::StatusOr<RunConfig> FromJson(const nlohmann::json& document);

  // Sets one knob. NotFound for an unknown key, InvalidArgument for a wrong type or range; the
  // message says what would be right. An integer is accepted where a real is wanted.
  absl::Status Set(std::string_view key, const KnobValue& value);
  // The same from text as on a command line: "0.1", "true", "geo".
  absl::Status Parse(std::string_view key, std::string_view text);
  // Back to the default.
  void Unset(std::string_view key);

  // The resolved value. CHECK-fails for an unknown key or another type: the table is known here.
  // norm.angle_clamp "off" is Real() == 0; model.vocab 0 means "from the data set";
  // Real() of an integer knob is allowed.
  bool Bool(std::string_view key) const;
  int64_t Int(std::string_view key) const;
  double Real(std::string_view key) const;
  std::string Text(std::string_view key) const;
  KnobValue Value(std::string_view key) const;
  // The resolved value as people write it: "0.1", "geo", "off".
  std::string ValueText(std::string_view key) const;

  // Somebody set this knob (as against its default).
  bool IsSet(std::string_view key) const;
  // This knob means something under this config: norm.decay does nothing to `pre`.
  bool Applies(std::string_view key) const;
  // Knobs that were set, sorted by key.
  const std::map<std::string, KnobValue, std::less<>>& Assignments() const { return values_; }

  // The vocabulary of the model on a data set with `dataset_vocab` tokens: model.vocab when given,
  // else the data set's, for gpt2-* and neox-* presets padded to a multiple of 128 (50257 → 50304).
  int64_t VocabFor(int64_t dataset_vocab) const;

  // Combinations that no run can have (width not divisible by heads, an odd head width with rotary
  // positions, warm-up longer than the run …). Empty: fine.
  std::vector<ConfigError> Validate() const;

  // Nested by group, every knob that applies resolved; FromJson gives an equivalent config back.
  nlohmann::json ToJson() const;
  // Every knob, resolved, by dotted key: for tables and SQL.
  nlohmann::json ToFlatJson() const;

  // What the identity is made of: sorted keys, shortest numbers; only knobs that affect the result,
  // apply, and differ from their frozen identity_default; presets expanded; `sandwich` without
  // PB-relax is `peri`, `sphere` is `geo` without decay.
  std::string CanonicalJson(std::string_view dataset_sha256, int trainer_math = kTrainerMath) const;
  // First 16 hex digits of the SHA-256 of CanonicalJson.
  std::string Identity(std::string_view dataset_sha256, int trainer_math = kTrainerMath) const;
  // The resolved observation knobs as JSON, sorted: whether a finished run recorded what is asked
  // for.
  nlohmann::json Observations() const;

  friend bool operator==(const RunConfig&, const RunConfig&) = default;

 private:
  std::map<std::string, KnobValue, std::less<>> values_;
};

// "key: message" lines.
std::string JoinErrors(const std::vector<ConfigError>& errors);

}  // namespace normlab

#endif  // NORMLAB_CORE_RUN_CONFIG_H_
