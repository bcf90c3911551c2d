#ifndef NORMLAB_SERVER_HTTP_CONNECTION_H_
#define NORMLAB_SERVER_HTTP_CONNECTION_H_

// Asio of Boost 1.74 uses std::exchange without including it.
#include <utility>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <list>

#include "absl/time/time.h"
#include "core/clock.h"
#include "server/http/live_hub.h"
#include "server/http/metrics.h"
#include "server/http/site.h"

namespace normlab::server {

// What all connections share. Belongs to the io_context's thread, but for what says otherwise.
struct ConnectionContext {
  boost::asio::io_context& io;
  boost::asio::thread_pool& pool;  // makes the replies that may take long
  const Site& site;
  Metrics& metrics;
  LiveHub& hub;
  Clock& clock;
  absl::Duration heartbeat;  // of quiet live streams
  // Ends one open connection each; connections add and remove their own.
  std::list<std::function<void()>> closers;
  int deferred = 0;  // replies being made or waiting for the pool
};

// Answers requests on `socket` until either side ends it. Limits: 16 KiB of head, 16 KiB of body
// (which nothing needs), a minute for a request to arrive, half a minute for a reply to leave.
boost::asio::awaitable<void> ServeConnection(boost::asio::ip::tcp::socket socket,
                                             ConnectionContext& context);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_CONNECTION_H_
