#include "tests/server/http/loopback_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "core/check.h"
#include "core/strings.h"

namespace normlab::server {

std::string RawReply::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

LoopbackClient::LoopbackClient(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  CHECK(fd_ >= 0);
  const timeval limit = {10, 0};
  CHECK(setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
}

LoopbackClient::~LoopbackClient() { close(fd_); }

bool LoopbackClient::Send(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

void LoopbackClient::EndSending() { shutdown(fd_, SHUT_WR); }

bool LoopbackClient::Fill() {
  char piece[4096];
  const ssize_t n = recv(fd_, piece, sizeof(piece), 0);
  closed_in_order_ = n == 0;
  if (n <= 0) return false;
  buffer_.append(piece, static_cast<size_t>(n));
  return true;
}

std::string LoopbackClient::ReadUntil(const std::string& text) {
  while (text.empty() || buffer_.find(text) == std::string::npos) {
    if (Fill()) continue;
    CHECK(text.empty()) << "the stream ended before '" << text << "'; so far: " << buffer_;
    return std::exchange(buffer_, "");
  }
  const size_t end = buffer_.find(text) + text.size();
  std::string read = buffer_.substr(0, end);
  buffer_.erase(0, end);
  return read;
}

bool LoopbackClient::AtEnd() { return buffer_.empty() && !Fill() && closed_in_order_; }

RawReply LoopbackClient::ReadReply(bool head) {
  RawReply reply;
  const std::string text = ReadUntil("\r\n\r\n");
  bool first = true;
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view plain = StripSpace(line);
    const size_t colon = plain.find(':');
    if (first) {
      int64_t status = 0;
      CHECK(plain.size() >= 12 && ParseInt64(plain.substr(9, 3), status)) << plain;
      reply.status = static_cast<int>(status);
    } else if (colon != std::string_view::npos) {
      std::string name(plain.substr(0, colon));
      std::transform(name.begin(), name.end(), name.begin(), ::tolower);
      reply.headers.emplace(name, StripSpace(plain.substr(colon + 1)));
    }
    first = false;
  }
  int64_t length = 0;
  if (head || !ParseInt64(reply.Header("content-length"), length)) return reply;
  while (buffer_.size() < static_cast<size_t>(length) && Fill()) {
  }
  reply.body = buffer_.substr(0, static_cast<size_t>(length));
  buffer_.erase(0, static_cast<size_t>(length));
  return reply;
}

RawReply Get(int port, const std::string& target, const Headers& headers,
             const std::string& method) {
  LoopbackClient client(port);
  std::string request = Cat(method, " ", target, " HTTP/1.1\r\n");
  if (!headers.contains("Host")) request += "Host: localhost\r\n";
  for (const auto& [name, value] : headers) request += Cat(name, ": ", value, "\r\n");
  client.Send(request + "\r\n");
  return client.ReadReply(method == "HEAD");
}

}  // namespace normlab::server
