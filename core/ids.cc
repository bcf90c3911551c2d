#include "core/ids.h"

#include <charconv>
#include <limits>

#include "absl/strings/str_format.h"
#include "core/strings.h"

namespace normlab {

namespace {

// A positive number in plain digits behind `prefix`, at most `max`; 0 for anything else.
int64_t ParsePositive(std::string_view text, std::string_view prefix, int64_t max) {
  if (text.substr(0, prefix.size()) != prefix) return 0;
  text.remove_prefix(prefix.size());
  if (text.empty() || text[0] < '1' || text[0] > '9') return 0;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > max) return 0;
  return value;
}

template <typename Id>
absl::StatusOr<Id> ParseId(std::string_view text, std::string_view prefix,
                           std::string_view expected) {
  using Value = typename Id::ValueType;
  const int64_t value = ParsePositive(text, prefix, std::numeric_limits<Value>::max());
  if (value == 0) {
    return InvalidArgument("'", text, "' is not ", expected);
  }
  return Id(static_cast<Value>(value));
}

}  // namespace

std::string ToString(SweepId id) { return Cat("s", id.value()); }
std::string ToString(RunId id) { return Cat("r", id.value()); }
std::string ToString(CellNumber cell) { return Cat("c", cell.value()); }
std::string ToString(AttemptNumber attempt) { return Cat(attempt.value()); }
std::string ToString(LeaseToken token) { return absl::StrFormat("%016x", token.value()); }

absl::StatusOr<SweepId> ParseSweepId(std::string_view text) {
  return ParseId<SweepId>(text, "s", "a sweep's id (such as s3)");
}
absl::StatusOr<RunId> ParseRunId(std::string_view text) {
  return ParseId<RunId>(text, "r", "a run's id (such as r37)");
}
absl::StatusOr<CellNumber> ParseCellNumber(std::string_view text) {
  return ParseId<CellNumber>(text, "c", "a cell (such as c4)");
}
absl::StatusOr<AttemptNumber> ParseAttemptNumber(std::string_view text) {
  return ParseId<AttemptNumber>(text, "", "an attempt's number (from 1)");
}

absl::StatusOr<LeaseToken> ParseLeaseToken(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool lower = text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (text.size() != 16 || !lower || error != std::errc() || value == 0) {
    return InvalidArgument("'", text, "' is not a lease token (16 hexadecimal digits, not all 0)");
  }
  return LeaseToken(value);
}

}  // namespace normlab
