#include "server/http/reply_pool.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace normlab::server {
namespace {

namespace asio = boost::asio;

class ReplyPoolTest : public ::testing::Test {
 protected:
  // Asks for a reply; its status is added to statuses_ when it comes, by Run.
  void Ask(std::function<HttpReply()> make) {
    asio::co_spawn(io_, Await(std::move(make)), asio::detached);
  }

  // Until no reply is under way.
  void Run() {
    io_.restart();
    io_.run();
  }

  // A reply that is made no sooner than Release is called.
  HttpReply Held() {
    released_.wait();
    return {};
  }
  void Release() { release_.set_value(); }

  asio::awaitable<void> Await(std::function<HttpReply()> make) {
    const HttpReply reply = co_await pool_.Make(make);
    statuses_.push_back(reply.status);
  }

  std::vector<int> statuses_;
  std::promise<void> release_;
  const std::shared_future<void> released_ = release_.get_future().share();
  asio::io_context io_;
  ReplyPool pool_{io_, 2};
};

TEST_F(ReplyPoolTest, MakesRepliesOnThreadsOfItsOwn) {
  std::thread::id maker;
  Ask([&maker] {
    maker = std::this_thread::get_id();
    HttpReply reply;
    reply.status = 204;
    return reply;
  });
  Run();
  EXPECT_EQ(statuses_, std::vector<int>{204});
  EXPECT_NE(maker, std::this_thread::get_id());
}

TEST_F(ReplyPoolTest, AFaultIsAReply) {
  Ask([]() -> HttpReply { throw std::runtime_error("a bug"); });
  Run();
  EXPECT_EQ(statuses_, std::vector<int>{500});
}

// A request that is read while the server ends must not wait for a thread that will never come.
TEST_F(ReplyPoolTest, AfterTheEndARequestIsRefusedAtOnce) {
  pool_.Close();
  pool_.Join();
  bool called = false;
  Ask([&called] {
    called = true;
    return HttpReply();
  });
  Run();
  EXPECT_EQ(statuses_, std::vector<int>{503});
  EXPECT_FALSE(called);
}

TEST_F(ReplyPoolTest, WhatWasBegunBeforeTheEndIsMade) {
  Ask([this] { return Held(); });
  io_.poll();
  pool_.Close();
  Release();
  pool_.Join();
  Run();
  EXPECT_EQ(statuses_, std::vector<int>{200});
}

TEST_F(ReplyPoolTest, TooManyAtATimeAreRefused) {
  for (int i = 0; i < 257; ++i) Ask([this] { return Held(); });
  io_.poll();
  EXPECT_EQ(statuses_, std::vector<int>{503});
  Release();
  Run();
  EXPECT_EQ(statuses_.size(), 257u);
  EXPECT_EQ(std::count(statuses_.begin(), statuses_.end(), 200), 256);
  statuses_.clear();
  Ask([] { return HttpReply(); });
  Run();
  EXPECT_EQ(statuses_, std::vector<int>{200}) << "there is room again";
}

}  // namespace
}  // namespace normlab::server
