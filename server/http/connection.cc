#include "server/http/connection.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "core/strings.h"

namespace normlab::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

constexpr size_t kHeadLimit = 16 << 10;
constexpr size_t kLingerLimit = 16 << 20;
constexpr std::chrono::seconds kReadTimeout{60};
constexpr std::chrono::seconds kWriteTimeout{30};

std::string Text(boost::string_view view) { return std::string(view.data(), view.size()); }

using Parser = http::request_parser<http::empty_body>;

HttpRequest ToPlain(const http::request_header<>& message) {
  HttpRequest request;
  request.method = Text(message.method_string());
  request.target = Text(message.target());
  for (const auto& field : message) {
    std::string name = Text(field.name_string());
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    request.headers.emplace(std::move(name), Text(field.value()));
  }
  return request;
}

// Of an encoding that the parser does not know it takes no notice.
bool AnnouncesBody(const Parser& parser) {
  return !parser.is_done() || parser.get().count(http::field::transfer_encoding) != 0;
}

// GCC 12 destroys temporaries twice when they share an expression with a co_await (in a condition,
// or as an argument by value), so every co_await here stands in a statement of its own.
class Connection {
 public:
  Connection(asio::ip::tcp::socket socket, ConnectionContext& context)
      : stream_(std::move(socket)), context_(context) {
    place_ = context.closers.insert(context.closers.end(), [this] { Close(); });
  }
  ~Connection() { context_.closers.erase(place_); }

  asio::awaitable<void> Run() {
    bool go_on = true;
    while (go_on && !context_.closed) go_on = co_await Next();
    error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    if (!context_.closed) co_await Linger();
  }

 private:
  void Close() {
    error_code ignored;
    stream_.socket().close(ignored);
  }

  // Until the other side, which knows by now that nothing more is answered, ends too. To close with
  // bytes unread, or before those under way have come, would reset the connection.
  asio::awaitable<void> Linger() {
    std::array<char, 16 << 10> dropped;
    error_code error;
    stream_.expires_after(absl::ToChronoNanoseconds(context_.linger));
    for (size_t total = 0; !error && total < kLingerLimit;) {
      const size_t taken = co_await stream_.async_read_some(
          asio::buffer(dropped), asio::redirect_error(asio::use_awaitable, error));
      total += taken;
    }
  }

  // Reads the head of one request and answers it; false when the connection is to end.
  asio::awaitable<bool> Next() {
    Parser parser;
    parser.header_limit(kHeadLimit);
    parser.body_limit(std::numeric_limits<uint64_t>::max());
    error_code error;
    stream_.expires_after(kReadTimeout);
    co_await http::async_read_header(stream_, buffer_, parser,
                                     asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      const bool go_on = co_await Refuse(error);
      co_return go_on;
    }
    const bool keep_alive = parser.get().keep_alive() && !AnnouncesBody(parser);
    const HttpRequest request = ToPlain(parser.get());
    const absl::Time arrived = context_.clock.MonotonicNow();
    Site::Answer answer = context_.site.Handle(request);
    if (std::holds_alternative<Site::LiveStream>(answer)) {
      co_await Stream(request.method == "HEAD");
      co_return false;
    }
    HttpReply reply;
    if (auto* const made = std::get_if<HttpReply>(&answer)) {
      reply = std::move(*made);
    } else {
      reply = co_await context_.pool.Make(std::get<Site::Deferred>(answer).make);
    }
    context_.metrics.OnReply(reply.status, context_.clock.MonotonicNow() - arrived);
    const bool go_on = co_await Send(reply, request.method == "HEAD", keep_alive);
    co_return go_on;
  }

  // What could not be read as a request gets a reason when the other side is still there.
  asio::awaitable<bool> Refuse(const error_code& error) {
    int status = 0;
    if (error == http::error::header_limit) status = 431;
    if (status == 0 &&
        error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      status = 400;
    }
    if (status == 0) co_return false;
    HttpReply reply = ErrorReply(InvalidArgument("bad request: ", error.message()));
    reply.status = status;
    context_.metrics.OnReply(status, absl::ZeroDuration());
    const bool go_on = co_await Send(reply, false, false);
    co_return go_on;
  }

  asio::awaitable<bool> Send(HttpReply& reply, bool head, bool keep_alive) {
    Site::AddCommonHeaders(reply);
    http::response<http::string_body> message(static_cast<http::status>(reply.status), 11);
    if (!reply.content_type.empty()) message.set(http::field::content_type, reply.content_type);
    for (const auto& [name, value] : reply.headers) message.set(name, value);
    message.keep_alive(keep_alive);
    // "Not modified" has no body, and the length of the one that it stands for is not known here.
    if (reply.status != 304) message.content_length(reply.body.size());
    if (!head) message.body() = std::move(reply.body);
    http::response_serializer<http::string_body> serializer(message);
    serializer.split(head);
    error_code error;
    // The limit is on every piece: a long document may take its time on a slow line.
    while (!error && !(head ? serializer.is_header_done() : serializer.is_done())) {
      stream_.expires_after(kWriteTimeout);
      co_await http::async_write_some(stream_, serializer,
                                      asio::redirect_error(asio::use_awaitable, error));
    }
    co_return !error && keep_alive;
  }

  // Server-sent events until the reader is gone: what changed, and now and then a comment, so that
  // both ends notice a dead connection.
  asio::awaitable<void> Stream(bool head) {
    // In the hub before the head goes out: whoever has read the head misses nothing from then on.
    LiveHub::Subscriber mailbox(context_.io);
    const Subscription subscription(context_, mailbox);
    HttpReply reply;
    Site::AddCommonHeaders(reply);
    std::string text =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n";
    for (const auto& [name, value] : reply.headers) text += Cat(name, ": ", value, "\r\n");
    text += "\r\n";
    if (!head) text += "retry: 1000\n\n";
    const bool sent = co_await SendText(text);
    if (!sent || head) co_return;
    while (!mailbox.closed) {
      if (mailbox.pending.empty()) {
        mailbox.wake.expires_after(absl::ToChronoNanoseconds(context_.heartbeat));
        error_code woken;
        co_await mailbox.wake.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      }
      if (mailbox.closed) break;
      const std::string event = mailbox.pending.empty() ? ": \n\n" : mailbox.pending.ToEvent();
      mailbox.pending = {};
      const bool still_there = co_await SendText(event);
      if (!still_there) break;
    }
  }

  asio::awaitable<bool> SendText(const std::string& text) {
    error_code error;
    size_t sent = 0;
    while (!error && sent < text.size()) {
      stream_.expires_after(kWriteTimeout);
      const size_t taken = co_await stream_.async_write_some(
          asio::buffer(text) + sent, asio::redirect_error(asio::use_awaitable, error));
      sent += taken;
    }
    stream_.expires_never();
    co_return !error;
  }

  // In the hub for as long as the stream runs.
  class Subscription {
   public:
    Subscription(ConnectionContext& context, LiveHub::Subscriber& mailbox)
        : context_(context), mailbox_(mailbox) {
      context_.hub.Add(mailbox_);
      context_.metrics.SetLiveStreams(context_.hub.size());
    }
    ~Subscription() {
      context_.hub.Remove(mailbox_);
      context_.metrics.SetLiveStreams(context_.hub.size());
    }

   private:
    ConnectionContext& context_;
    LiveHub::Subscriber& mailbox_;
  };

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  ConnectionContext& context_;
  std::list<std::function<void()>>::iterator place_;
};

}  // namespace

asio::awaitable<void> ServeConnection(asio::ip::tcp::socket socket, ConnectionContext& context) {
  Connection connection(std::move(socket), context);
  co_await connection.Run();
}

}  // namespace normlab::server
