#ifndef NORMLAB_CLI_LIST_OPTIONS_H_
#define NORMLAB_CLI_LIST_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/output.h"
#include "nlohmann/json_fwd.hpp"

namespace CLI {
class App;
}

namespace normlab::cli {

// What every listing verb lets people choose: which rows, in which order, which columns.
struct ListOptions {
  std::string where;              // see cli/where.h
  std::string sort;               // a name as in --where; a leading '-' sorts downwards
  std::vector<std::string> cols;  // names as in --where
  bool only_changed = false;      // drop factor columns that have one value in all rows

  void AddTo(CLI::App* verb);

  // Filters and orders `rows` in place and chooses among `columns`. Missing and NaN values sort
  // last in both directions; equal ones keep their order. InvalidArgument names a bad expression or
  // a column that no row has.
  absl::Status Apply(nlohmann::json& rows, std::vector<Column>& columns) const;

 private:
  absl::Status Sort(nlohmann::json& rows) const;
  absl::Status ChooseColumns(nlohmann::json& rows, std::vector<Column>& columns) const;
};

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_LIST_OPTIONS_H_
