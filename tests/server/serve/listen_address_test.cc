#include "server/listen_address.h"

#include <string>
#include <vector>

#include "core/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/builders/status_matchers.h"

namespace normlab::server {
namespace {

using ::testing::ElementsAre;

constexpr auto kTaken = absl::StatusCode::kFailedPrecondition;

TEST(ChooseAddressTest, AskedThenRememberedThenDefault) {
  EXPECT_EQ(ChooseAddress("a:1", "http://b:2", "c:3"), "a:1");
  EXPECT_EQ(ChooseAddress("", "http://b:2", "c:3"), "b:2");
  EXPECT_EQ(ChooseAddress("", "b:2", "c:3"), "b:2");
  EXPECT_EQ(ChooseAddress("", "", "c:3"), "c:3");
}

TEST(AddressCandidatesTest, ThePortAndTheOnesAfterIt) {
  const auto candidates = AddressCandidates("127.0.0.1:7420");
  ASSERT_THAT(candidates, IsOk());
  EXPECT_EQ(candidates->size(), 50u);
  EXPECT_EQ(candidates->front(), "127.0.0.1:7420");
  EXPECT_EQ(candidates->back(), "127.0.0.1:7469");
  EXPECT_THAT(*AddressCandidates("[::1]:65535"), ElementsAre("[::1]:65535"));
  EXPECT_THAT(*AddressCandidates("localhost:0"), ElementsAre("localhost:0"));
}

TEST(AddressCandidatesTest, WhatIsNoAddress) {
  for (const char* address : {"", "7420", ":7420", "host", "host:", "host:x", "host:70000"}) {
    EXPECT_THAT(AddressCandidates(address),
                IsStatusWith(absl::StatusCode::kInvalidArgument, "HOST:PORT"))
        << address;
  }
}

// Tries the candidates against a set of answers; tells which were tried.
absl::StatusOr<int> StartWith(const std::vector<absl::Status>& answers, int& tried) {
  tried = 0;
  return StartOnFreePort({"h:1", "h:2", "h:3"}, [&](const std::string&) -> absl::StatusOr<int> {
    const absl::Status answer = answers[static_cast<size_t>(tried++)];
    if (!answer.ok()) return answer;
    return tried;
  });
}

TEST(StartOnFreePortTest, GoesOnWhileThePortIsTaken) {
  int tried = 0;
  const absl::Status taken = FailedPrecondition("taken");
  EXPECT_EQ(*StartWith({taken, absl::OkStatus()}, tried), 2);
  EXPECT_EQ(tried, 2);
  EXPECT_THAT(StartWith({taken, taken, taken}, tried), IsStatus(kTaken, "taken"));
  EXPECT_EQ(tried, 3);
  EXPECT_THAT(StartWith({InvalidArgument("bad")}, tried),
              IsStatus(absl::StatusCode::kInvalidArgument, "bad"));
  EXPECT_EQ(tried, 1);
}

}  // namespace
}  // namespace normlab::server
