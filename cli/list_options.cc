#include "cli/list_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "cli/where.h"
#include "core/knob.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

// A value as something to sort by: numbers (also as text) before texts, nothing last.
struct SortKey {
  int rank = 2;  // 0 number, 1 text, 2 missing or NaN
  double number = 0;
  std::string text;
};

SortKey KeyOf(const json& value) {
  SortKey key;
  if (value.is_null()) return key;
  key.text = value.is_string() ? value.get<std::string>() : value.dump();
  if (absl::SimpleAtod(key.text, &key.number)) {
    key.rank = std::isnan(key.number) ? 2 : 0;
  } else {
    key.rank = 1;
  }
  return key;
}

bool ValueLess(const SortKey& a, const SortKey& b) {
  if (a.rank == 0) return a.number < b.number;
  return a.rank == 1 && a.text < b.text;  // nothing comes before nothing
}

bool AnyRowHas(const json& rows, const std::string& name) {
  return std::any_of(rows.begin(), rows.end(), [&](const json& row) {
    // A field may be null in every row and still exist.
    return row.contains(name == "loss" ? "val_loss" : name) || !FieldOfRow(row, name).is_null();
  });
}

// A misspelt column would be null in every row, and the answer would be wrong without a word.
absl::Status CheckColumn(const json& rows, std::string_view option, const std::string& name) {
  if (rows.empty() || AnyRowHas(rows, name)) return absl::OkStatus();
  std::vector<std::string> known;
  for (const auto& [key, value] : rows.front().items()) known.push_back(key);
  if (const auto factors = rows.front().find("factors"); factors != rows.front().end()) {
    for (const auto& [key, level] : factors->items()) {
      known.push_back(key);
      known.push_back(key.substr(key.rfind('.') + 1));
    }
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view nearest = NearestName(name, names);
  return InvalidArgument(option, ": no column is named '", name, "'",
                         nearest.empty() ? "" : Cat("; did you mean '", nearest, "'?"));
}

bool HasOneValue(const json& rows, const std::string& key) {
  for (const json& row : rows) {
    if (FieldOfRow(row, key) != FieldOfRow(rows.front(), key)) return false;
  }
  return true;
}

}  // namespace

void ListOptions::AddTo(CLI::App* verb) {
  verb->add_option("--where", where, "only rows for which this holds")->type_name("EXPR");
  verb->add_option("--sort", sort, "order by this column, downwards with a leading '-'")
      ->type_name("COLUMN");
  verb->add_option("--cols", cols, "columns to print")->delimiter(',')->type_name("A,B");
  verb->add_flag("--only-changed", only_changed, "no factor columns that are the same everywhere");
}

absl::Status ListOptions::Sort(json& rows) const {
  if (sort.empty()) return absl::OkStatus();
  const bool down = sort[0] == '-';
  const std::string name = down ? sort.substr(1) : sort;
  if (absl::Status status = CheckColumn(rows, "--sort", name); !status.ok()) return status;
  std::vector<json> ordered(rows.begin(), rows.end());
  std::stable_sort(ordered.begin(), ordered.end(), [&](const json& a, const json& b) {
    const SortKey ka = KeyOf(FieldOfRow(a, name));
    const SortKey kb = KeyOf(FieldOfRow(b, name));
    if (ka.rank != kb.rank) return ka.rank < kb.rank;
    return down ? ValueLess(kb, ka) : ValueLess(ka, kb);
  });
  rows = std::move(ordered);
  return absl::OkStatus();
}

absl::Status ListOptions::ChooseColumns(json& rows, std::vector<Column>& columns) const {
  if (only_changed && rows.size() > 1) {
    std::erase_if(columns, [&](const Column& column) {
      return absl::StrContains(column.key, ".") && HasOneValue(rows, column.key);
    });
  }
  if (cols.empty()) return absl::OkStatus();
  std::vector<Column> chosen;
  for (const std::string& name : cols) {
    if (absl::Status status = CheckColumn(rows, "--cols", name); !status.ok()) return status;
    for (json& row : rows) row[name] = FieldOfRow(row, name);
    const auto known = std::find_if(columns.begin(), columns.end(),
                                    [&](const Column& column) { return column.key == name; });
    chosen.push_back(known != columns.end() ? *known : Column{name, name});
  }
  columns = std::move(chosen);
  return absl::OkStatus();
}

absl::Status ListOptions::Apply(json& rows, std::vector<Column>& columns) const {
  if (!where.empty()) {
    absl::StatusOr<Where> filter = Where::Parse(where);
    if (!filter.ok()) return filter.status();
    for (const std::string& name : filter->Names()) {
      if (absl::Status status = CheckColumn(rows, "--where", name); !status.ok()) return status;
    }
    json kept = json::array();
    for (const json& row : rows) {
      if (filter->Matches(row)) kept.push_back(row);
    }
    rows = std::move(kept);
  }
  if (absl::Status status = Sort(rows); !status.ok()) return status;
  return ChooseColumns(rows, columns);
}

}  // namespace normlab::cli
