#ifndef NORMLAB_SERVER_HTTP_CONNECTION_H_
#define NORMLAB_SERVER_HTTP_CONNECTION_H_

// Asio of Boost 1.74 uses std::exchange without including it.
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <list>

#include "absl/time/time.h"
#include "core/clock.h"
#include "server/http/live_hub.h"
#include "server/http/metrics.h"
#include "server/http/reply_pool.h"
#include "server/http/site.h"

namespace normlab::server {

// What all connections share. Belongs to the io_context's thread.
struct ConnectionContext {
  boost::asio::io_context& io;
  ReplyPool& pool;
  const Site& site;
  Metrics& metrics;
  LiveHub& hub;
  Clock& clock;
  absl::Duration heartbeat;  // of quiet live streams
  // Ends one open connection each; connections add and remove their own.
  std::list<std::function<void()>> closers;
  // No further request is read: a connection that begins now, or is about to read its next
  // request, ends by itself.
  bool closed = false;
  absl::Duration linger = absl::Seconds(5);  // at most, after the last reply
};

// Answers requests on `socket` until either side ends it. Limits: 16 KiB of head, a minute for it
// to arrive; a reader that takes nothing for half a minute is given up.
//
// Nothing needs a body: a request that announces one is answered from its head, as the last one.
// What comes after the last request is read and dropped for a while (16 MiB at most): closing at
// once would reset the connection, and with it lose the reply.
boost::asio::awaitable<void> ServeConnection(boost::asio::ip::tcp::socket socket,
                                             ConnectionContext& context);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_CONNECTION_H_
