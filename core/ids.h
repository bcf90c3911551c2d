#ifndef NORMLAB_CORE_IDS_H_
#define NORMLAB_CORE_IDS_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

// Ids that cannot be swapped for one another. A default-made id is "none".

namespace normlab {

template <typename Tag, typename Value>
class StrongId {
 public:
  using ValueType = Value;
  constexpr StrongId() = default;
  explicit constexpr StrongId(Value value) : value_(std::move(value)) {}
  constexpr const Value& value() const { return value_; }
  // False for a default-made id (0 or the empty string).
  constexpr explicit operator bool() const { return value_ != Value{}; }
  friend constexpr bool operator==(const StrongId&, const StrongId&) = default;
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const StrongId& id) {
    return H::combine(std::move(state), id.value_);
  }

 private:
  Value value_{};
};

using SweepId = StrongId<struct SweepTag, int64_t>;        // text: "s3"
using RunId = StrongId<struct RunTag, int64_t>;            // text: "r37"
using CellNumber = StrongId<struct CellTag, int>;          // from 1 in its sweep; text: "c4"
using AttemptNumber = StrongId<struct AttemptTag, int>;    // from 1 in its run; text: "1"
using LeaseToken = StrongId<struct LeaseTag, uint64_t>;    // 0 = none; text: 16 hex digits
using WorkerId = StrongId<struct WorkerTag, std::string>;  // stable over restarts
using Incarnation = StrongId<struct IncarnationTag, std::string>;  // new at every start of a worker

std::string ToString(SweepId id);
std::string ToString(RunId id);
std::string ToString(CellNumber cell);
std::string ToString(AttemptNumber attempt);
std::string ToString(LeaseToken token);
inline std::string ToString(const WorkerId& id) { return id.value(); }
inline std::string ToString(const Incarnation& id) { return id.value(); }

// Inverses of ToString. InvalidArgument for anything else (signs, spaces, zero and overflow
// included).
absl::StatusOr<SweepId> ParseSweepId(std::string_view text);
absl::StatusOr<RunId> ParseRunId(std::string_view text);
absl::StatusOr<CellNumber> ParseCellNumber(std::string_view text);
absl::StatusOr<AttemptNumber> ParseAttemptNumber(std::string_view text);
absl::StatusOr<LeaseToken> ParseLeaseToken(std::string_view text);

template <typename Tag, typename Value>
std::ostream& operator<<(std::ostream& out, const StrongId<Tag, Value>& id) {
  return out << ToString(id);
}

}  // namespace normlab

template <typename Tag, typename Value>
struct std::hash<normlab::StrongId<Tag, Value>> {
  size_t operator()(const normlab::StrongId<Tag, Value>& id) const {
    return std::hash<Value>()(id.value());
  }
};

#endif  // NORMLAB_CORE_IDS_H_
