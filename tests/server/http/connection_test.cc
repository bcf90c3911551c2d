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

  // Lets the connection do what it can without waiting for anybody.
  void Work() {
    io_.restart();
    io_.poll();
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
  LoopbackClient client_{acceptor_.local_endpoint().port()};
};

TEST_F(ConnectionTest, LastsForAsLongAsItIsAskedTo) {
  asio::co_spawn(io_, ServeConnection(acceptor_.accept(), context_), asio::detached);
  Work();
  EXPECT_EQ(context_.closers.size(), 1u) << "it waits for a request";
  client_.Send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  while (!context_.closers.empty()) io_.run_one();
  EXPECT_EQ(client_.ReadReply().body, "a page");
  EXPECT_TRUE(client_.AtEnd());
}

// The server ends between accepting a connection and serving it: nobody would close it later.
TEST_F(ConnectionTest, ThatBeginsAfterTheEndEndsAtOnce) {
  context_.closed = true;
  asio::co_spawn(io_, ServeConnection(acceptor_.accept(), context_), asio::detached);
  Work();
  EXPECT_TRUE(context_.closers.empty());
  EXPECT_TRUE(client_.AtEnd());
}

}  // namespace
}  // namespace normlab::server
