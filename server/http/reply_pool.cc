#include "server/http/reply_pool.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>

namespace normlab::server {
namespace {

namespace asio = boost::asio;

constexpr int kMaxUnderWay = 256;

// A fault in making one document must not end the server; it is told to whoever asked.
HttpReply MakeSafely(const std::function<HttpReply()>& make) {
  try {
    return make();
  } catch (const std::exception& error) {
    return ErrorReply(absl::InternalError(error.what()), "this is a bug in normlab");
  }
}

}  // namespace

ReplyPool::ReplyPool(asio::io_context& io, int threads)
    : io_(io), pool_(static_cast<size_t>(threads)) {}

asio::awaitable<HttpReply> ReplyPool::Make(const std::function<HttpReply()>& make) {
  if (closed_) co_return ErrorReply(absl::UnavailableError("the server is ending"));
  if (under_way_ >= kMaxUnderWay) {
    co_return ErrorReply(absl::UnavailableError("too many requests at a time"), "try again");
  }
  ++under_way_;
  const auto begin = [this, &make](auto handler) {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    asio::post(pool_, [this, make, shared] {
      auto reply = std::make_shared<HttpReply>(MakeSafely(make));
      asio::post(io_, [shared, reply] { std::move (*shared)(std::move(*reply)); });
    });
  };
  HttpReply reply = co_await asio::async_initiate<const asio::use_awaitable_t<>, void(HttpReply)>(
      begin, asio::use_awaitable);
  --under_way_;
  co_return reply;
}

}  // namespace normlab::server
