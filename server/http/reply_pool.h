#ifndef NORMLAB_SERVER_HTTP_REPLY_POOL_H_
#define NORMLAB_SERVER_HTTP_REPLY_POOL_H_

// Asio of Boost 1.74 uses std::exchange without including it.
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>

#include "server/http/message.h"

namespace normlab::server {

// Makes replies that may take long, on threads of its own beside the one of the io_context. All but
// Join belong to the io_context's thread.
class ReplyPool {
 public:
  ReplyPool(boost::asio::io_context& io, int threads);

  // What `make` returns; 500 when it throws. At once, and without calling it: 503 when too many
  // replies are being made already, or after Close. (By reference: GCC 12 destroys the argument of
  // an awaited call twice when it is passed by value.)
  boost::asio::awaitable<HttpReply> Make(const std::function<HttpReply()>& make);

  // Nothing new is begun from now on. What has been begun is made and comes back as ever.
  void Close() { closed_ = true; }

  // Any thread, when Close has run (what is begun afterwards would never come back): returns when
  // all that was begun is made.
  void Join() { pool_.join(); }

 private:
  boost::asio::io_context& io_;
  boost::asio::thread_pool pool_;
  int under_way_ = 0;  // being made or waiting for a thread
  bool closed_ = false;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_REPLY_POOL_H_
