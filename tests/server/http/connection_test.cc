#include "server/http/connection.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "core/random.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_clock.h"
#include "tests/server/http/loopback_client.h"

namespace normlab::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// A site with one file, and a connection to it; the test's own thread does all the work.
class ConnectionTest : public ::testing::Test {
 protected:
  ~ConnectionTest() override {
    for (const auto& close : context_.closers) close();
    Work();
  }

  int port() const { return acceptor_.local_endpoint().port(); }

  // Takes the next client that has connected.
  void Serve() {
    asio::co_spawn(io_, ServeConnection(acceptor_.accept(), context_), asio::detached);
    Work();
  }

  // Lets the connection do what it can without waiting for anybody.
  void Work() {
    io_.restart();
    io_.poll();
  }

  void AwaitEnd() {
    while (!context_.closers.empty()) io_.run_one();
  }

  FakeClock clock_;
  std::unique_ptr<RandomSource> random_ = SeededRandom(1);
  Access access_{"token", "instance", {}, clock_, *random_};
  StaticFiles files_{{{"/index.html", "a page"}}};
  Metrics metrics_;
  Site site_{access_, files_, metrics_, SiteBackends()};
  asio::io_context io_;
  LiveHub hub_{io_, absl::Milliseconds(1)};
  ReplyPool pool_{io_, 1};
  ConnectionContext context_{io_, pool_, site_, metrics_, hub_, clock_, absl::Seconds(1),
                             {},  false};
  tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
};

TEST_F(ConnectionTest, LastsForAsLongAsItIsAskedTo) {
  LoopbackClient client(port());
  Serve();
  EXPECT_EQ(context_.closers.size(), 1u) << "it waits for a request";
  client.Send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  Work();
  EXPECT_EQ(client.ReadReply().body, "a page");
  EXPECT_TRUE(client.AtEnd());
  client.EndSending();
  AwaitEnd();
}

// The server ends between accepting a connection and serving it: nobody would close it later.
TEST_F(ConnectionTest, ThatBeginsAfterTheEndEndsAtOnce) {
  context_.closed = true;
  LoopbackClient client(port());
  Serve();
  EXPECT_TRUE(context_.closers.empty());
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(ConnectionTest, TheLastReplyIsNotLostOnWhoGoesOnSending) {
  struct Case {
    std::string request;
    int status;
  };
  const std::string get = "GET / HTTP/1.1\r\n";
  for (const Case& c :
       {Case{"nonsense\r\n\r\n", 400}, Case{get + "Connection: close\r\n\r\n", 400},
        Case{get + "Host: evil.example\r\nConnection: close\r\n\r\n", 403},
        Case{get + "X: " + std::string(20000, 'a') + "\r\n\r\n", 431},
        Case{"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n", 405}}) {
    SCOPED_TRACE(c.request.substr(0, 60));
    LoopbackClient client(port());
    Serve();
    client.Send(c.request);
    bool taken = true;
    for (int piece = 0; piece < 100; ++piece) {
      Work();
      taken = client.Send(std::string(10'000, 'x')) && taken;
    }
    EXPECT_TRUE(taken);
    Work();
    EXPECT_EQ(client.ReadReply().status, c.status);
    EXPECT_TRUE(client.AtEnd());
    client.EndSending();
    AwaitEnd();
  }
}

// Nothing here takes a body. What stands where one would be may be more than there is memory for,
// or another request that somebody on the way took for a body.
TEST_F(ConnectionTest, WhatFollowsAHeadWithABodyIsNotRead) {
  const std::string get = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (const char* framing :
       {"Content-Length: 36", "Content-Length: 99999999999", "Transfer-Encoding: chunked",
        "Transfer-Encoding: identity", "Transfer-Encoding: xchunked\r\nContent-Length: 0"}) {
    SCOPED_TRACE(framing);
    LoopbackClient client(port());
    Serve();
    client.Send(get + framing + "\r\n\r\n");
    Work();
    EXPECT_EQ(client.ReadReply().body, "a page");
    client.Send(get + "\r\n");
    client.EndSending();
    AwaitEnd();
    EXPECT_TRUE(client.AtEnd());
  }
}

TEST_F(ConnectionTest, AnEmptyBodyIsNone) {
  LoopbackClient client(port());
  Serve();
  const std::string get = "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
  client.Send(get + get);
  Work();
  EXPECT_EQ(client.ReadReply().body, "a page");
  EXPECT_EQ(client.ReadReply().body, "a page");
}

TEST_F(ConnectionTest, WhoNeverStopsSendingIsCutOff) {
  LoopbackClient client(port());
  Serve();
  client.Send("nonsense\r\n\r\n");
  Work();
  const std::string piece(1 << 16, 'x');
  int pieces = 0;
  for (; pieces < 1000 && client.Send(piece); ++pieces) Work();
  EXPECT_GT(pieces, 200);
  EXPECT_LT(pieces, 300) << "16 MiB are 256";
  EXPECT_TRUE(context_.closers.empty());
}

TEST_F(ConnectionTest, TheEndOfTheServerWaitsForNobodyToLeave) {
  LoopbackClient client(port());
  Serve();
  client.Send("nonsense\r\n\r\n");
  Work();
  EXPECT_EQ(context_.closers.size(), 1u) << "the other side may go on sending";
  for (const auto& close : context_.closers) close();
  Work();
  EXPECT_TRUE(context_.closers.empty());
}

TEST_F(ConnectionTest, WhoStaysAfterTheLastReplyIsLeft) {
  context_.linger = absl::ZeroDuration();
  LoopbackClient client(port());
  Serve();
  client.Send("nonsense\r\n\r\n");
  AwaitEnd();
  EXPECT_EQ(client.ReadReply().status, 400);
  EXPECT_TRUE(client.AtEnd());
}

}  // namespace
}  // namespace normlab::server
