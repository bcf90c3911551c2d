#include "worker/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/random.h"
#include "tests/builders/temp_dir.h"
#include "tests/fakes/sim_transport.h"
#include "tests/worker/worker_builders.h"

namespace normlab::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// What a server does with batches, the obvious way: a prefix of each log, grown only without a
// hole.
class PrefixServer {
 public:
  absl::StatusOr<v1::AppendReply> Append(const v1::AppendRequest& request) {
    std::vector<std::string>& log = logs_[request.token()];
    uint64_t seq = request.first_seq();
    for (const std::string& record : request.records()) {
      if (seq == log.size() + 1) log.push_back(record);
      ++seq;
    }
    v1::AppendReply reply;
    reply.set_acked_seq(log.size());
    calls_.push_back(request.records_size());
    return reply;
  }

  // Restored from an older copy.
  void GoBack(LeaseToken token, size_t size) { logs_[token.value()].resize(size); }

  std::vector<std::string>& log(LeaseToken token) { return logs_[token.value()]; }
  const std::vector<int>& calls() const { return calls_; }

 private:
  std::map<uint64_t, std::vector<std::string>> logs_;
  std::vector<int> calls_;  // records in each call
};

class RelayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    transport_.on_append = [this](const v1::AppendRequest& request) {
      return server_.Append(request);
    };
    CHECK_OK(store_.Recover("instance-1"));
  }

  std::shared_ptr<HeldAttempt> Attempt(int64_t run, int records) {
    auto attempt = store_.Create(Identity(run), "instance-1");
    CHECK_OK(attempt.status());
    for (int step = 1; step <= records; ++step) CHECK_OK((*attempt)->Append(Loss(step)));
    return *attempt;
  }

  std::vector<std::string> LogOf(const HeldAttempt& attempt) {
    std::vector<std::string> encoded;
    for (const Record& record : RecordsIn(attempt.dir())) encoded.push_back(EncodeRecord(record));
    return encoded;
  }

  TempDir dir_;
  SimTransport transport_;
  PrefixServer server_;
  AttemptStore store_{dir_.File("attempts"), [] {}};
  Relay relay_{{.worker = WorkerId("w"), .incarnation = Incarnation("i"), .max_batch_bytes = 100},
               store_,
               transport_};
};

TEST_F(RelayTest, SendsInBatchesUntilAllIsThere) {
  const auto attempt = Attempt(1, 20);
  int steps = 1;
  while (relay_.Step().more) ++steps;
  EXPECT_GT(steps, 3);
  EXPECT_EQ(server_.log(Identity(1).token), LogOf(*attempt));
  EXPECT_FALSE(attempt->Delivered());  // it goes on
  EXPECT_EQ(server_.calls().size(), static_cast<size_t>(steps));
  relay_.Step();
  EXPECT_EQ(server_.calls().size(), static_cast<size_t>(steps)) << "nothing new, nothing sent";
}

TEST_F(RelayTest, SaysWhenTheLastRecordIsThere) {
  const auto attempt = Attempt(1, 1);
  EXPECT_FALSE(relay_.Step().delivered);
  CHECK_OK(attempt->Append(ExitRecord{}));
  EXPECT_TRUE(relay_.Step().delivered);
  EXPECT_TRUE(attempt->Delivered());
  EXPECT_FALSE(relay_.Step().delivered);
}

TEST_F(RelayTest, AsksFirstAfterARestart) {
  Attempt(1, 3);
  while (relay_.Step().more) continue;
  AttemptStore second(dir_.File("attempts"), [] {});
  CHECK_OK(second.Recover("instance-1"));
  Relay relay({.worker = WorkerId("w"), .incarnation = Incarnation("j")}, second, transport_);
  const size_t before = server_.calls().size();
  while (relay.Step().more) continue;
  const std::vector<int> after(server_.calls().begin() + before, server_.calls().end());
  EXPECT_THAT(after, ElementsAre(0, 1));  // the question, then the exit record of the recovery
  EXPECT_THAT(server_.log(Identity(1).token), SizeIs(4));
}

TEST_F(RelayTest, ServerThatWentBackGetsItAgain) {
  const auto attempt = Attempt(1, 4);
  while (relay_.Step().more) continue;
  server_.GoBack(Identity(1).token, 1);
  CHECK_OK(attempt->Append(Loss(5)));
  while (relay_.Step().more) continue;
  EXPECT_EQ(server_.log(Identity(1).token), LogOf(*attempt));
}

TEST_F(RelayTest, OneRefusedAttemptDoesNotHoldUpTheOthers) {
  Attempt(1, 1);
  const auto fine = Attempt(2, 1);
  transport_.on_append =
      [this](const v1::AppendRequest& request) -> absl::StatusOr<v1::AppendReply> {
    if (request.run() == 1) return absl::NotFoundError("never issued");
    return server_.Append(request);
  };
  EXPECT_EQ(relay_.Step().status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(server_.log(Identity(2).token), LogOf(*fine));
}

// Whatever is lost, answered twice or not at all: in the end the server has exactly the log.
TEST_F(RelayTest, AnyFaultsAnyOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto random = SeededRandom(seed);
    const auto attempt = Attempt(static_cast<int64_t>(seed), 0);
    std::vector<Fault> faults(40);
    for (Fault& fault : faults) fault = static_cast<Fault>(random->Next() % 4);
    transport_.Script(faults);
    for (int step = 1; step <= 30; ++step) {
      CHECK_OK(attempt->Append(Loss(step)));
      if (random->Next() % 2 == 0) relay_.Step();
    }
    CHECK_OK(attempt->Append(ExitRecord{}));
    transport_.Script({});
    while (!attempt->Delivered()) ASSERT_TRUE(relay_.Step().status.ok());
    EXPECT_EQ(server_.log(attempt->identity().token), LogOf(*attempt)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace normlab::worker
