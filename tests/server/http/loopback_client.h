#ifndef NORMLAB_TESTS_SERVER_HTTP_LOOPBACK_CLIENT_H_
#define NORMLAB_TESTS_SERVER_HTTP_LOOPBACK_CLIENT_H_

#include <map>
#include <string>

namespace normlab::server {

struct RawReply {
  int status = 0;
  std::multimap<std::string, std::string> headers;  // names in lower case
  std::string body;

  // The header's value; empty when it is not there.
  std::string Header(const std::string& name) const;
};

// One TCP connection to 127.0.0.1, for tests that speak HTTP byte by byte. Every read has a limit
// of ten seconds, so that a server that does not answer fails the test instead of hanging it.
class LoopbackClient {
 public:
  explicit LoopbackClient(int port);
  ~LoopbackClient();
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;

  // False when the connection was reset: the other side had closed it and dropped what came.
  bool Send(const std::string& bytes);
  // Tells the other side that nothing more comes.
  void EndSending();
  // Reads until `text` has come; returns everything up to and with it. Empty text: until the other
  // side closes.
  std::string ReadUntil(const std::string& text);
  // One whole reply; `head`: to a HEAD request, which has no body.
  RawReply ReadReply(bool head = false);
  // True when nothing is left to read and the other side has closed, in order: not by a reset.
  bool AtEnd();

 private:
  // False when nothing more comes.
  bool Fill();

  int fd_;
  std::string buffer_;
  bool closed_in_order_ = false;
};

using Headers = std::map<std::string, std::string>;

// One GET on a connection of its own; Host is localhost unless `headers` says otherwise.
RawReply Get(int port, const std::string& target, const Headers& headers = {},
             const std::string& method = "GET");

}  // namespace normlab::server

#endif  // NORMLAB_TESTS_SERVER_HTTP_LOOPBACK_CLIENT_H_
