#include "core/selector.h"

#include <algorithm>
#include <vector>

#include "core/status.h"
#include "core/strings.h"

namespace normlab {

namespace {

constexpr std::string_view kForms =
    "a selector is last, all, a sweep (s3 or its name), a cell (s3/c4), a seed of it (s3/c4/2), a "
    "run "
    "(r37) or runs (r37-r40)";

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNameCharacter);
}

// "r37-r40". Kind stays kLast when it is not of that form.
absl::StatusOr<Selector> ParseRunRange(std::string_view text, size_t dash) {
  Selector selector;
  const auto first = ParseRunId(text.substr(0, dash));
  const auto last = ParseRunId(text.substr(dash + 1));
  if (!first.ok() || !last.ok()) return selector;
  if (*last < *first) return InvalidArgument("'", text, "' ends before it begins");
  selector.kind = Selector::Kind::kRunRange;
  selector.first_run = *first;
  selector.last_run = *last;
  return selector;
}

// The part before the first slash, or all of it.
Selector ParseSweepPart(std::string_view text) {
  Selector selector;
  if (const auto sweep = ParseSweepId(text); sweep.ok()) {
    selector.kind = Selector::Kind::kSweep;
    selector.sweep = *sweep;
  } else {
    selector.kind = Selector::Kind::kName;
    selector.name = text;
  }
  return selector;
}

absl::StatusOr<Selector> ParseCellParts(const std::vector<std::string_view>& parts) {
  Selector selector = ParseSweepPart(parts[0]);
  const auto cell = ParseCellNumber(parts[1]);
  if (parts.size() > 3 || !cell.ok() || !IsWord(parts[0])) return InvalidArgument(kForms);
  selector.cell = *cell;
  selector.kind = Selector::Kind::kCell;
  if (parts.size() == 2) return selector;
  if (!ParseInt64(parts[2], selector.seed) || selector.seed < 0) return InvalidArgument(kForms);
  selector.kind = Selector::Kind::kSeed;
  return selector;
}

}  // namespace

absl::StatusOr<Selector> ParseSelector(std::string_view text) {
  Selector selector;
  if (text == "last") return selector;
  if (text == "all") {
    selector.kind = Selector::Kind::kAll;
    return selector;
  }
  if (const auto run = ParseRunId(text); run.ok()) {
    selector.kind = Selector::Kind::kRun;
    selector.first_run = selector.last_run = *run;
    return selector;
  }
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    ASSIGN_OR_RETURN(const Selector range, ParseRunRange(text, dash));
    if (range.kind == Selector::Kind::kRunRange) return range;
  }
  const std::vector<std::string_view> parts = Split(text, '/');
  absl::StatusOr<Selector> parsed = ParseSweepPart(text);
  if (parts.size() > 1) parsed = ParseCellParts(parts);
  if (!parsed.ok()) return AddContext(parsed.status(), Cat("'", text, "'"));
  if (parts.size() == 1 && !IsWord(text)) return InvalidArgument("'", text, "': ", kForms);
  return parsed;
}

bool IsSweepName(std::string_view name) {
  if (!IsWord(name)) return false;
  const auto selector = ParseSelector(name);
  return selector.ok() && selector->kind == Selector::Kind::kName;
}

}  // namespace normlab
