#include "server/http/http_server.h"

#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <thread>

#include "core/loopback.h"
#include "core/status.h"
#include "core/strings.h"
#include "server/http/connection.h"

namespace normlab::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kMaxConnections = 4000;
// Between two tries of accept when the process has no file descriptor left.
constexpr std::chrono::milliseconds kAcceptPause{100};

absl::StatusOr<tcp::endpoint> EndpointOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  int64_t port = 0;
  if (colon == std::string::npos || !ParseInt64(address.substr(colon + 1), port) || port < 0 ||
      port > 65535) {
    return InvalidArgument("'", address, "' is no address; write 127.0.0.1:PORT");
  }
  if (!IsLoopbackAddress(address)) {
    return FailedPrecondition("HTTP listens on loopback only, not on ", address,
                              "; reach it through `ssh -L`");
  }
  const std::string host = address.substr(0, colon);
  error_code is_name;
  asio::ip::address ip = asio::ip::make_address_v4(host, is_name);
  if (is_name) ip = asio::ip::address_v4::loopback();
  if (host == "[::1]") ip = asio::ip::address_v6::loopback();
  return tcp::endpoint(ip, static_cast<uint16_t>(port));
}

absl::Status Listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return absl::OkStatus();
  return FailedPrecondition("cannot listen on ", endpoint.address().to_string(), ":",
                            endpoint.port(), ": ", error.message());
}

}  // namespace

struct HttpServer::Parts {
  Parts(const HttpServerOptions& options, SiteBackends backends, Clock& clock, RandomSource& random)
      : access(options.token, options.instance, options.hosts, clock, random),
        files(options.files),
        site(access, files, metrics, std::move(backends)),
        acceptor(io),
        accept_pause(io),
        hub(io, options.live_interval),
        pool(io, options.query_threads),
        context{io, pool, site, metrics, hub, clock, options.heartbeat, {}, false},
        work(asio::make_work_guard(io)) {}

  asio::awaitable<void> Accept();
  void Close();

  Access access;
  StaticFiles files;
  Metrics metrics;
  Site site;
  asio::io_context io{1};
  tcp::acceptor acceptor;
  asio::steady_timer accept_pause;
  LiveHub hub;
  ReplyPool pool;
  ConnectionContext context;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::thread thread;
};

asio::awaitable<void> HttpServer::Parts::Accept() {
  while (acceptor.is_open()) {
    error_code error;
    tcp::socket socket =
        co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor.is_open()) co_return;
    if (error) {
      accept_pause.expires_after(kAcceptPause);
      co_await accept_pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    if (context.closers.size() >= kMaxConnections) continue;
    socket.set_option(tcp::no_delay(true), error);
    asio::co_spawn(io, ServeConnection(std::move(socket), context), asio::detached);
  }
}

// In the io thread: every pending operation ends with an error, and with it its coroutine; whatever
// begins afterwards ends by itself.
void HttpServer::Parts::Close() {
  context.closed = true;
  pool.Close();
  error_code ignored;
  acceptor.close(ignored);
  accept_pause.cancel();
  hub.Close();
  for (const auto& close : context.closers) close();
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                              SiteBackends backends, Clock& clock,
                                                              RandomSource& random) {
  ASSIGN_OR_RETURN(const tcp::endpoint endpoint, EndpointOf(options.address));
  auto parts = std::make_unique<Parts>(options, std::move(backends), clock, random);
  RETURN_IF_ERROR(Listen(parts->acceptor, endpoint));
  asio::co_spawn(parts->io, parts->Accept(), asio::detached);
  parts->thread = std::thread([io = &parts->io] { io->run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

HttpServer::~HttpServer() {
  std::promise<void> closed;
  asio::post(parts_->io, [this, &closed] {
    parts_->Close();
    closed.set_value();
  });
  closed.get_future().wait();
  parts_->pool.Join();
  parts_->work.reset();
  parts_->thread.join();
}

int HttpServer::port() const { return parts_->acceptor.local_endpoint().port(); }

std::string HttpServer::OneTimeKey() { return parts_->access.OneTimeKey(); }

void HttpServer::Announce(const std::set<SweepId>& sweeps, const std::set<RunId>& runs) {
  parts_->hub.Announce({sweeps, runs});
}

}  // namespace normlab::server
