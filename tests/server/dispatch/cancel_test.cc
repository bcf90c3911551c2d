#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "tests/builders/status_matchers.h"
#include "tests/server/dispatch/server_lab.h"

namespace normlab::server {
namespace {

std::string MessageOf(ServerLab& lab, const std::string& selector) {
  const auto document = lab.dispatcher().Cancel(selector, "enough");
  EXPECT_THAT(document, IsOk());
  return document.ok() ? (*document)["message"].get<std::string>() : "";
}

TEST(Cancel, EndsWhatNobodyElseAsksFor) {
  ServerLab lab;
  lab.Submit(ServerLab::Spec({"pre", "post", "geo"}), "a");
  lab.Submit(ServerLab::Spec({"pre", "post"}), "b");
  EXPECT_EQ(MessageOf(lab, "s1"), "s1 cancelled: 1 run ended, 2 go on in s2");
  EXPECT_EQ(lab.Text("SELECT state FROM run_v WHERE run = 'r3'"), "cancelled");
  EXPECT_EQ(lab.Text("SELECT state FROM run_v WHERE run = 'r1'"), "queued");
  EXPECT_THAT(lab.dispatcher().Cancel("s1", ""),
              IsStatus(absl::StatusCode::kFailedPrecondition, "s1 is cancelled already"));
  lab.Restart();
  EXPECT_EQ(MessageOf(lab, "last"), "s2 cancelled: 2 runs ended");
}

TEST(Cancel, RunsBySelector) {
  ServerLab lab;
  lab.Submit(ServerLab::Spec({"pre", "geo"}, 2), "a");
  EXPECT_EQ(MessageOf(lab, "r1"), "r1 cancelled");
  EXPECT_EQ(MessageOf(lab, "lab/c2/2"), "r4 cancelled");
  EXPECT_EQ(MessageOf(lab, "r1-r9"), "2 runs cancelled: r2, r3");
  EXPECT_THAT(lab.dispatcher().Cancel("r1", ""),
              IsStatus(absl::StatusCode::kFailedPrecondition, "r1 has ended already"));
  EXPECT_THAT(lab.dispatcher().Cancel("s7", ""),
              IsStatus(absl::StatusCode::kNotFound, "there is no sweep s7"));
  EXPECT_THAT(lab.dispatcher().Cancel("r77", ""),
              IsStatus(absl::StatusCode::kNotFound, "there is no run r77"));
}

}  // namespace
}  // namespace normlab::server
