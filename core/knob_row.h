#ifndef NORMLAB_CORE_KNOB_ROW_H_
#define NORMLAB_CORE_KNOB_ROW_H_

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/knob.h"

// How core/knob_table.cc spells its rows; nobody else needs it.

namespace normlab::knob_row {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One row under construction; reads like a sentence in the table below.
class Row {
 public:
  Row(std::string_view key, KnobType type, KnobValue default_value) : knob_{} {
    knob_.key = key;
    knob_.type = type;
    knob_.default_value = std::move(default_value);
    knob_.min = -kInfinity;
    knob_.max = kInfinity;
    knob_.affects = Affects::kShorthand;
  }
  Row& Choices(std::vector<std::string_view> choices) {
    knob_.choices = std::move(choices);
    return *this;
  }
  Row& From(double min, double max = kInfinity) {
    knob_.min = min;
    knob_.max = max;
    return *this;
  }
  Row& Above(double min, double max = kInfinity) {
    knob_.min_open = true;
    return From(min, max);
  }
  Row& FromBelow(double min, double max) {
    knob_.max_open = true;
    return From(min, max);
  }
  Row& Unit(std::string_view unit) {
    knob_.unit = unit;
    return *this;
  }
  Row& Off(std::string_view word) {
    knob_.off_word = word;
    return *this;
  }
  Row& DefaultOf(KnobValue (*function)(const RunConfig&), std::string_view note) {
    knob_.default_of = function;
    knob_.default_note = note;
    return *this;
  }
  // Part of the identity, left out when equal to `frozen`. That value never changes, whatever
  // happens to the default: it keeps the identities of old runs.
  Row& Result(KnobValue frozen) {
    knob_.affects = Affects::kResult;
    knob_.identity_default = std::move(frozen);
    return *this;
  }
  Row& Observation() {
    knob_.affects = Affects::kObservation;
    return *this;
  }
  Row& Operation() {
    knob_.affects = Affects::kOperation;
    return *this;
  }
  Row& If(bool (*predicate)(const RunConfig&), std::string_view note) {
    knob_.applies = predicate;
    knob_.applies_note = note;
    return *this;
  }
  Row& Help(std::string_view help) {
    knob_.help = help;
    return *this;
  }
  operator Knob() const { return knob_; }  // NOLINT: a row is a knob

 private:
  Knob knob_;
};

inline Row Choice(std::string_view key, std::string_view value,
                  std::vector<std::string_view> choices) {
  return Row(key, KnobType::kChoice, std::string(value)).Choices(std::move(choices));
}
inline Row Whole(std::string_view key, int64_t value) { return Row(key, KnobType::kInt, value); }
inline Row Real(std::string_view key, double value) { return Row(key, KnobType::kReal, value); }
inline Row Switch(std::string_view key, bool value) { return Row(key, KnobType::kBool, value); }
inline Row Words(std::string_view key, std::string_view value) {
  return Row(key, KnobType::kText, std::string(value));
}
inline KnobValue Frozen(std::string_view text) { return std::string(text); }
inline KnobValue Frozen(int64_t value) { return value; }

}  // namespace normlab::knob_row

#endif  // NORMLAB_CORE_KNOB_ROW_H_
