#include "core/knob.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/check.h"
#include "core/json.h"
#include "core/strings.h"

namespace normlab {

namespace {

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
int EditDistance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(width));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j < width; ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = static_cast<int>(i + j);
        continue;
      }
      const int replace = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

// Farther than this, a name is not a slip of another one.
int FarthestSlip(std::string_view name) {
  return std::max<int>(1, static_cast<int>(std::min<size_t>(name.size(), 12)) / 3);
}

std::string_view LastPart(std::string_view key) { return key.substr(key.rfind('.') + 1); }

absl::Status OutOfPlace(const Knob& knob, std::string_view found) {
  if (knob.type == KnobType::kChoice) {
    const std::string_view nearest = NearestName(found, knob.choices);
    if (!nearest.empty()) {
      return InvalidArgument("'", found, "' is none of its values; did you mean '", nearest, "'?");
    }
    return InvalidArgument("'", found, "' is none of its values: ", Join(knob.choices, ", "));
  }
  return InvalidArgument("found ", found, "; should be ", DescribeRange(knob));
}

std::string TextOf(const KnobValue& value) {
  return std::visit([](const auto& held) { return Cat(held); }, value);
}

// A value of another type read as what the knob wants, where nothing is lost by it.
KnobValue Coerce(const Knob& knob, const KnobValue& value) {
  const double* const real = std::get_if<double>(&value);
  const int64_t* const whole = std::get_if<int64_t>(&value);
  const bool* const flag = std::get_if<bool>(&value);
  const auto* const text = std::get_if<std::string>(&value);
  if (knob.type == KnobType::kReal && whole != nullptr) return static_cast<double>(*whole);
  if (knob.type == KnobType::kInt && real != nullptr && std::trunc(*real) == *real &&
      std::abs(*real) < 9e15) {
    return static_cast<int64_t>(*real);
  }
  // YAML readers turn a bare `off` into false.
  const bool off = (text != nullptr && *text == knob.off_word) || (flag != nullptr && !*flag);
  if (knob.type == KnobType::kReal && !knob.off_word.empty() && off) return 0.0;
  return value;
}

bool InRange(const Knob& knob, double value) {
  const bool above = knob.min_open ? value > knob.min : value >= knob.min;
  const bool below = knob.max_open ? value < knob.max : value <= knob.max;
  return above && below;  // false for NaN
}

std::string Bound(const Knob& knob, double value) {
  // Large whole numbers in full, not as 1e+09.
  return knob.type == KnobType::kInt ? Cat(static_cast<int64_t>(value)) : Cat(value);
}

std::string Bounds(const Knob& knob) {
  std::string text;
  if (std::isfinite(knob.min)) {
    text = Cat(knob.min_open ? " above " : " from ", Bound(knob, knob.min));
  }
  if (std::isfinite(knob.max)) {
    text += Cat(knob.max_open ? " to below " : " to ", Bound(knob, knob.max));
  }
  return text;
}

}  // namespace

const Knob* FindKnob(std::string_view key) {
  static const auto* const index = [] {
    auto* const map = new std::unordered_map<std::string_view, const Knob*>;
    for (const Knob& knob : Knobs()) map->emplace(knob.key, &knob);
    return map;
  }();
  const auto it = index->find(key);
  return it == index->end() ? nullptr : it->second;
}

std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& names) {
  std::string_view nearest;
  int best = FarthestSlip(name) + 1;
  for (std::string_view candidate : names) {
    const int distance = EditDistance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string_view NearestKnob(std::string_view name) {
  std::vector<std::string_view> keys;
  std::vector<std::string_view> last_parts;
  for (const Knob& knob : Knobs()) {
    keys.push_back(knob.key);
    last_parts.push_back(LastPart(knob.key));
  }
  const std::string_view whole = NearestName(name, keys);
  if (!whole.empty()) return whole;
  // "lr", or "model.lr": right word, wrong group or none.
  const std::string_view last = NearestName(LastPart(name), last_parts);
  const auto it = std::find(last_parts.begin(), last_parts.end(), last);
  return last.empty() ? last : keys[static_cast<size_t>(it - last_parts.begin())];
}

absl::StatusOr<KnobValue> CheckValue(const Knob& knob, const KnobValue& given) {
  const KnobValue value = Coerce(knob, given);
  switch (knob.type) {
    case KnobType::kBool:
      if (std::holds_alternative<bool>(value)) return value;
      break;
    case KnobType::kInt:
      if (const auto* whole = std::get_if<int64_t>(&value)) {
        if (InRange(knob, static_cast<double>(*whole))) return value;
      }
      break;
    case KnobType::kReal:
      if (const auto* real = std::get_if<double>(&value)) {
        if (InRange(knob, *real)) return value;
      }
      break;
    case KnobType::kChoice:
      if (const auto* text = std::get_if<std::string>(&value)) {
        const auto& choices = knob.choices;
        if (std::find(choices.begin(), choices.end(), *text) != choices.end()) return value;
      }
      break;
    case KnobType::kText:
      if (std::holds_alternative<std::string>(value)) return value;
      break;
  }
  return OutOfPlace(knob, TextOf(given));
}

absl::StatusOr<KnobValue> ParseValue(const Knob& knob, std::string_view text) {
  int64_t whole = 0;
  double real = 0;
  switch (knob.type) {
    case KnobType::kBool:
      if (text == "true" || text == "on" || text == "yes") return KnobValue(true);
      if (text == "false" || text == "off" || text == "no") return KnobValue(false);
      break;
    case KnobType::kInt:
    case KnobType::kReal:
      if (ParseInt64(text, whole)) return CheckValue(knob, whole);
      if (ParseDouble(text, real)) return CheckValue(knob, real);
      if (!knob.off_word.empty() && text == knob.off_word) return KnobValue(0.0);
      break;
    case KnobType::kChoice:
    case KnobType::kText:
      return CheckValue(knob, std::string(text));
  }
  return OutOfPlace(knob, Cat("'", text, "'"));
}

std::string FormatValue(const Knob& knob, const KnobValue& value) {
  const double* const real = std::get_if<double>(&value);
  if (!knob.off_word.empty() && real != nullptr && *real == 0) return std::string(knob.off_word);
  return TextOf(value);
}

std::string DescribeRange(const Knob& knob) {
  switch (knob.type) {
    case KnobType::kBool:
      return "true or false";
    case KnobType::kInt:
      return Cat("a whole number", Bounds(knob));
    case KnobType::kReal:
      return Cat("a number", Bounds(knob), knob.off_word.empty() ? "" : ", or ", knob.off_word);
    case KnobType::kChoice:
      return Cat("one of ", Join(knob.choices, ", "));
    case KnobType::kText:
      return "text";
  }
  CHECK(false) << "not a knob type";
  return "";
}

std::string_view ToString(KnobType type) {
  switch (type) {
    case KnobType::kBool:
      return "bool";
    case KnobType::kInt:
      return "int";
    case KnobType::kReal:
      return "real";
    case KnobType::kChoice:
      return "choice";
    case KnobType::kText:
      return "text";
  }
  CHECK(false) << "not a knob type";
  return "";
}

std::string_view ToString(Affects affects) {
  switch (affects) {
    case Affects::kResult:
      return "result";
    case Affects::kObservation:
      return "observation";
    case Affects::kOperation:
      return "operation";
    case Affects::kShorthand:
      return "shorthand";
  }
  CHECK(false) << "not an effect";
  return "";
}

}  // namespace normlab
