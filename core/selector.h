#ifndef NORMLAB_CORE_SELECTOR_H_
#define NORMLAB_CORE_SELECTOR_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/ids.h"

namespace normlab {

// What a person names on the command line or in an address. Only read here; whoever has the sweeps
// at hand looks it up.
struct Selector {
  enum class Kind {
    kLast,      // "last": the sweep submitted last
    kAll,       // "all"
    kSweep,     // "s3"
    kName,      // a sweep's name, or the beginning of exactly one
    kCell,      // "s3/c4"; sweep may be `last` or a name: "last/c4"
    kSeed,      // "s3/c4/2": the run of that cell with seed 2
    kRun,       // "r37"
    kRunRange,  // "r37-r40", both included
  };
  Kind kind = Kind::kLast;
  SweepId sweep;  // of kSweep, and of kCell and kSeed when given by id
  std::string
      name;  // of kName, and of kCell and kSeed when given by name; "last" stands for itself
  CellNumber cell;
  int64_t seed = 0;
  RunId first_run;  // kRun, kRunRange
  RunId last_run;   // equal to first_run for kRun
  friend bool operator==(const Selector&, const Selector&) = default;
};

// InvalidArgument says what a selector looks like. Anything that has the form of an id is one: a
// sweep cannot be found by a name such as "s3", and a sweep file may not have such a name
// (IsSweepName).
absl::StatusOr<Selector> ParseSelector(std::string_view text);

// A name that can be selected: letters, digits, '-', '_', '.', not the form of another selector.
bool IsSweepName(std::string_view name);

}  // namespace normlab

#endif  // NORMLAB_CORE_SELECTOR_H_
