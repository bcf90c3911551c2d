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

TEST(Linking, ProbesThatNobodyAsksForAreCovered) {
  const json recorded = {{"probe.every", 20}, {"probe.sensitivity", true}};
  EXPECT_TRUE(Covers(recorded, {{"probe.every", 100}, {"probe.sensitivity", false}}));
  EXPECT_TRUE(Covers(recorded, {{"probe.every", 0}, {"probe.sensitivity", true}}));
  EXPECT_FALSE(Covers(recorded, {{"probe.every", 50}, {"probe.sensitivity", false}}));
  const json off = {{"probe.every", 0}, {"probe.sensitivity", false}};
  EXPECT_FALSE(Covers(off, {{"probe.every", 50}, {"probe.sensitivity", false}}));
  EXPECT_FALSE(Covers(off, {{"probe.every", 0}, {"probe.sensitivity", true}}));
  // A run from before there were probes.
  EXPECT_TRUE(Covers(json::object(), off));
  EXPECT_FALSE(Covers(json::object(), {{"probe.sensitivity", true}}));
  // eval.batches 0 is all of them, so it asks for most.
  EXPECT_FALSE(Covers({{"eval.batches", 4}}, {{"eval.batches", 0}}));
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
