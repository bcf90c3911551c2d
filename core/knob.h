#ifndef NORMLAB_CORE_KNOB_H_
#define NORMLAB_CORE_KNOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// The one table of every knob: what it is called, what it may be, what it does. Validation,
// canonical form, `normlab config`, sweep-file errors, completion and column heads are made from
// it.

namespace normlab {

class RunConfig;

using KnobValue = std::variant<bool, int64_t, double, std::string>;

enum class KnobType { kBool, kInt, kReal, kChoice, kText };

// What a knob changes. Only kResult is part of a run's identity. kShorthand stands for other knobs
// (preset, seed, the data set's name) and reaches the identity through them.
enum class Affects { kResult, kObservation, kOperation, kShorthand };

struct Knob {
  std::string_view key;  // dotted: "norm.placement"
  KnobType type;
  std::string_view unit;  // "steps", "radians", … or ""
  KnobValue default_value;
  // Set when the default depends on other knobs; says on which, for people ("from the preset").
  std::string_view default_note;
  KnobValue (*default_of)(const RunConfig&);  // null: default_value
  std::vector<std::string_view> choices;      // of kChoice
  double min;                                 // of kInt and kReal
  double max;
  bool min_open;              // min itself is not allowed
  bool max_open;              // max itself is not allowed
  std::string_view off_word;  // a word that stands for 0 ("off"), or ""
  Affects affects;
  KnobValue identity_default;  // frozen for ever: values equal to it are left out of the identity
  bool (*applies)(const RunConfig&);  // null: always
  std::string_view applies_note;      // for people: "geo, geo-affine", or ""
  std::string_view help;              // one line
};

// All knobs in the order of the documentation. Lives for ever.
const std::vector<Knob>& Knobs();

// Null when there is none of that key.
const Knob* FindKnob(std::string_view key);

// The most similar knob key ("norm.placment" → "norm.placement"); empty when nothing is similar.
std::string_view NearestKnob(std::string_view name);

// The most similar of `names`, or empty when nothing is similar.
std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& names);

// Checks type, range and choices; returns the value as the knob stores it (an integer for a real
// knob becomes a real, "off" becomes 0). InvalidArgument: "'gheo' is none of post, pre, …; did you
// mean 'geo'?".
absl::StatusOr<KnobValue> CheckValue(const Knob& knob, const KnobValue& value);

// Reads text as the knob's type and checks it.
absl::StatusOr<KnobValue> ParseValue(const Knob& knob, std::string_view text);

// As people write it: "0.1", "true", "geo", and the off word for its 0.
std::string FormatValue(const Knob& knob, const KnobValue& value);

// "one of post, pre, …", "a whole number from 1 to 1000", "a number above 0", "true or false".
std::string DescribeRange(const Knob& knob);

std::string_view ToString(KnobType type);
std::string_view ToString(Affects affects);

}  // namespace normlab

#endif  // NORMLAB_CORE_KNOB_H_
