#ifndef NORMLAB_SERVER_HTTP_MESSAGE_H_
#define NORMLAB_SERVER_HTTP_MESSAGE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

// Requests and replies as plain values, so that all decisions are made and tested without sockets.

namespace normlab::server {

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";                         // as sent: path?query, percent-encoded
  std::multimap<std::string, std::string> headers;  // names in lower case
};

struct HttpReply {
  int status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // besides the ones every reply has
};

// The header's value; empty when it is not there. Of several the first.
std::string HeaderOf(const HttpRequest& request, const std::string& name);

// {"error":{"code","message","hint"}} with the HTTP status that fits the code.
HttpReply ErrorReply(const absl::Status& status, const std::string& hint = "");

// 400 for InvalidArgument, 404 for NotFound … 500 for anything unforeseen.
int HttpStatusOf(absl::StatusCode code);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_MESSAGE_H_
