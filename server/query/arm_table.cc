#include "server/query/arm_table.h"

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/knob.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/query/row_view.h"
#include "server/store/read_only_store.h"

namespace normlab::server {

using nlohmann::json;

namespace {

constexpr char kDoesNotApply[] = "does not apply";

std::string LevelText(const json& factors, const std::string& key) {
  const auto level = factors.find(key);
  if (level == factors.end()) return kDoesNotApply;
  const Knob* knob = FindKnob(key);
  if (level->is_string()) return level->get<std::string>();
  if (knob != nullptr && level->is_number_float()) {
    return FormatValue(*knob, level->get<double>());
  }
  return DumpStrict(*level);
}

absl::StatusOr<std::string> FindBy(const std::set<std::string>& keys, const std::string& by) {
  if (by.empty() || by == "cell") return std::string("cell");
  for (const std::string& key : keys) {
    if (key == by || key.ends_with("." + by)) return key;
  }
  return InvalidArgument("'by' is '", by, "'; this sweep's factors are ", Join(keys, ", "));
}

ArmPlace PlaceOf(const json& combination, const std::string& by) {
  ArmPlace place{LevelText(combination, by), {}};
  for (const auto& [key, level] : combination.items()) {
    if (key != by) place.rest[key] = LevelText(combination, key);
  }
  return place;
}

// A run counts once in an arm, however many combinations of its cell are in it.
void AddPlace(ArmPlace place, ArmCell& cell) {
  const bool known =
      std::any_of(cell.places.begin(), cell.places.end(),
                  [&place](const ArmPlace& other) { return other.arm == place.arm; });
  if (!known) cell.places.push_back(std::move(place));
}

// Levels in the order of the sweep file, so that arms are named "peri = sandwich" in that order.
std::vector<std::string> LevelsInOrder(const ArmTable& table) {
  std::vector<std::string> levels;
  for (const auto& [number, cell] : table.cells) {
    for (const ArmPlace& place : cell.places) {
      if (std::find(levels.begin(), levels.end(), place.arm) == levels.end()) {
        levels.push_back(place.arm);
      }
    }
  }
  return levels;
}

std::set<int64_t> CellsOf(const ArmTable& table, const std::string& arm) {
  std::set<int64_t> cells;
  for (const auto& [number, cell] : table.cells) {
    for (const ArmPlace& place : cell.places) {
      if (place.arm == arm) cells.insert(number);
    }
  }
  return cells;
}

// Levels with the very same cells become one arm.
void JoinEqualArms(ArmTable& table) {
  std::map<std::set<int64_t>, std::vector<std::string>> levels_of;
  for (const std::string& level : LevelsInOrder(table)) {
    levels_of[CellsOf(table, level)].push_back(level);
  }
  std::map<std::string, std::string> arm_of;
  for (const auto& [cells, levels] : levels_of) {
    const std::string arm = Join(levels, " = ");
    table.levels[arm] = levels;
    for (const std::string& level : levels) arm_of[level] = arm;
  }
  for (auto& [number, cell] : table.cells) {
    for (ArmPlace& place : std::exchange(cell.places, {})) {
      place.arm = arm_of.at(place.arm);
      AddPlace(std::move(place), cell);
    }
  }
}

}  // namespace

absl::StatusOr<ArmTable> ReadArmTable(ReadOnlyStore& store, SweepId sweep, const std::string& by) {
  ASSIGN_OR_RETURN(
      const SqlRows rows,
      store.Query("SELECT c.number, c.label, c.names, c.factors, c.combinations, c.baseline, "
                  "s.spec FROM cell c JOIN sweep s ON s.id = c.sweep WHERE c.sweep = ?1",
                  {sweep.value()}));
  ArmTable table;
  if (!rows.rows.empty()) {
    const json spec = RowView(rows, 0).Parsed("spec");
    for (const json& factor : spec.at("factors")) {
      for (const auto& [key, levels] : factor.items()) table.factor_keys.insert(key);
    }
  }
  ASSIGN_OR_RETURN(table.by, FindBy(table.factor_keys, by));
  // With one factor, its levels are the cells, whose labels say as much.
  const bool by_cell = table.by == "cell" || table.factor_keys.size() == 1;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    ArmCell& cell = table.cells[row.Int("number")];
    cell = {row.Text("label"),
            row.Parsed("names").get<std::vector<std::string>>(),
            row.Text("factors"),
            row.Int("baseline") != 0,
            {}};
    if (by_cell) {
      cell.places = {{cell.label, {}}};
      table.levels[cell.label] = cell.names;
      continue;
    }
    const json combinations = row.Parsed("combinations");
    for (const json& combination : combinations) {
      AddPlace(PlaceOf(combination, table.by), cell);
    }
  }
  if (!by_cell) JoinEqualArms(table);
  return table;
}

absl::StatusOr<std::string> FindBaseline(const ArmTable& table, const std::string& asked) {
  if (asked.empty()) {
    for (const auto& [number, cell] : table.cells) {
      if (cell.baseline) return cell.places.front().arm;
    }
    return table.cells.empty() ? "" : table.cells.begin()->second.places.front().arm;
  }
  std::vector<std::string> labels;
  for (const auto& [arm, levels] : table.levels) {
    if (arm == asked) return arm;
    labels.push_back(arm);
  }
  for (const auto& [arm, levels] : table.levels) {
    if (std::find(levels.begin(), levels.end(), asked) != levels.end()) return arm;
  }
  for (const auto& [number, cell] : table.cells) {
    if (std::find(cell.names.begin(), cell.names.end(), asked) != cell.names.end()) {
      return cell.places.front().arm;
    }
  }
  return InvalidArgument("'baseline' is '", asked, "'; the arms are ", Join(labels, ", "));
}

}  // namespace normlab::server
