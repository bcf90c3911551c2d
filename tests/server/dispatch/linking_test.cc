#include "server/dispatch/linking.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace normlab::server {
namespace {

using nlohmann::json;

TEST(Linking, RecordingMoreOftenCoversAMultiple) {
  const json recorded = {{"eval.every", 50}, {"eval.batches", 0}};
  EXPECT_TRUE(Covers(recorded, recorded));
  EXPECT_TRUE(Covers(recorded, {{"eval.every", 100}, {"eval.batches", 0}}));
  EXPECT_FALSE(Covers(recorded, {{"eval.every", 75}, {"eval.batches", 0}}));
  EXPECT_FALSE(Covers(recorded, {{"eval.every", 25}, {"eval.batches", 0}}));
  // Other validation batches are another number.
  EXPECT_FALSE(Covers(recorded, {{"eval.every", 50}, {"eval.batches", 4}}));
  EXPECT_FALSE(Covers(recorded, {{"probe.every", 1}}));
  EXPECT_FALSE(Covers({{"eval.every", 0}}, {{"eval.every", 10}}));
}

TEST(Linking, FinishedBeforeUnfinishedNeverFailed) {
  const json nothing = json::object();
  const std::vector<LinkCandidate> candidates = {{RunId(4), "cancelled", "{}", "{}"},
                                                 {RunId(3), "running", "{}", "{}"},
                                                 {RunId(2), "done", "{}", "{}"},
                                                 {RunId(1), "failed", "{}", "{}"}};
  EXPECT_EQ(FindLinkable(candidates, nothing, nothing), RunId(2));
  EXPECT_EQ(FindLinkable({candidates[0], candidates[1]}, nothing, nothing), RunId(3));
  EXPECT_EQ(FindLinkable({candidates[0], candidates[3]}, nothing, nothing), RunId());
  EXPECT_EQ(FindLinkable(candidates, nothing, {{"nonfinite", false}}), RunId());
}

}  // namespace
}  // namespace normlab::server
