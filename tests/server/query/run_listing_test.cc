#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "tests/server/query/query_lab.h"

namespace normlab::server {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

// By number, across sweeps, each once: as the member of the sweep that asked for it first.
TEST(RunListing, RunsByTheirNumbers) {
  QueryLab lab;
  const SweepId first = lab.AddSweep("p", {{"pre"}, {"peri = sandwich", {"peri", "sandwich"}}}, 2);
  lab.AddLinkedSweep("q", first);
  const auto ids = [&](const std::string& select) {
    std::vector<std::string> found;
    const json document = lab.Document("runs", {{"select", select}});
    for (const json& run : document.at("runs")) found.push_back(run.at("id"));
    return found;
  };
  EXPECT_THAT(ids("all"), ElementsAre("r1", "r2", "r3", "r4"));
  EXPECT_THAT(ids("r2-r3"), ElementsAre("r2", "r3"));
  EXPECT_THAT(ids("r4"), ElementsAre("r4"));
  EXPECT_THAT(ids("q/c2/1"), ElementsAre("r3"));
  EXPECT_EQ(lab.Get("runs", {{"select", "r7-r9"}}).status().code(), absl::StatusCode::kNotFound);
  const json document = lab.Document("runs", {{"select", "r3"}});
  EXPECT_EQ(document.at("factor_keys"), json({"norm.placement"}));
  EXPECT_EQ(document.at("runs")[0].at("combinations"),
            json({{{"norm.placement", "peri"}}, {{"norm.placement", "sandwich"}}}));
}

}  // namespace
}  // namespace normlab::server
