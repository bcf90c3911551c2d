#include "cli/list_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

json Row(const std::string& id, const json& loss, const std::string& placement) {
  return {{"id", id},
          {"val_loss", loss},
          {"norm.placement", placement},
          {"norm.kind", "rmsnorm"},
          {"factors", json::object()}};
}

json Rows() {
  return json::array({Row("r1", 2.5, "pre"), Row("r2", "nan", "geo"), Row("r3", nullptr, "geo"),
                      Row("r4", 2.25, "geo"), Row("r5", "inf", "post")});
}

std::vector<Column> Columns() {
  return {{"id", "run"}, {"norm.placement", "norm.placement"}, {"norm.kind", "norm.kind"}};
}

std::string Ids(const json& rows) {
  std::string ids;
  for (const json& row : rows) ids += row.at("id").get<std::string>() + " ";
  return ids;
}

TEST(ListOptionsTest, SortsMissingAndNanLastBothWays) {
  ListOptions options;
  options.sort = "loss";
  json rows = Rows();
  std::vector<Column> columns = Columns();
  ASSERT_TRUE(options.Apply(rows, columns).ok());
  EXPECT_EQ(Ids(rows), "r4 r1 r5 r2 r3 ");
  options.sort = "-loss";
  rows = Rows();
  ASSERT_TRUE(options.Apply(rows, columns).ok());
  EXPECT_EQ(Ids(rows), "r5 r1 r4 r2 r3 ");
}

TEST(ListOptionsTest, FiltersRows) {
  ListOptions options;
  options.where = "norm.placement = 'geo' and loss < 3";
  json rows = Rows();
  std::vector<Column> columns = Columns();
  ASSERT_TRUE(options.Apply(rows, columns).ok());
  EXPECT_EQ(Ids(rows), "r4 ");
}

TEST(ListOptionsTest, OnlyChangedDropsConstantFactors) {
  ListOptions options;
  options.only_changed = true;
  json rows = Rows();
  std::vector<Column> columns = Columns();
  ASSERT_TRUE(options.Apply(rows, columns).ok());
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[1].key, "norm.placement");
}

TEST(ListOptionsTest, UnknownColumnIsAnError) {
  ListOptions options;
  options.cols = {"id", "nonsense"};
  json rows = Rows();
  std::vector<Column> columns = Columns();
  EXPECT_EQ(options.Apply(rows, columns).message(), "--cols: no column is named 'nonsense'");
  options.cols.clear();
  options.sort = "-nonsense";
  EXPECT_EQ(options.Apply(rows, columns).message(), "--sort: no column is named 'nonsense'");
  options.sort.clear();
  options.where = "loss < 3 or nonsense = 3";
  EXPECT_EQ(options.Apply(rows, columns).message(), "--where: no column is named 'nonsense'");
  options.where = "val_los < 3";
  EXPECT_EQ(options.Apply(rows, columns).message(),
            "--where: no column is named 'val_los'; did you mean 'val_loss'?");
}

TEST(ListOptionsTest, ColumnsComeInTheOrderAskedFor) {
  ListOptions options;
  options.cols = {"loss", "id"};
  json rows = Rows();
  std::vector<Column> columns = Columns();
  ASSERT_TRUE(options.Apply(rows, columns).ok());
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0].key, "loss");
  EXPECT_EQ(rows[0].at("loss"), 2.5);
}

}  // namespace
}  // namespace normlab::cli
