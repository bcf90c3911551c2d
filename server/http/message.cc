#include "server/http/message.h"

#include "core/json.h"
#include "nlohmann/json.hpp"

namespace normlab::server {

std::string HeaderOf(const HttpRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

HttpReply ErrorReply(const absl::Status& status, const std::string& hint) {
  const nlohmann::json document = {{"error",
                                    {{"code", absl::StatusCodeToString(status.code())},
                                     {"message", std::string(status.message())},
                                     {"hint", hint}}}};
  HttpReply reply;
  reply.status = HttpStatusOf(status.code());
  reply.content_type = "application/json";
  reply.body = DumpStrict(document);
  return reply;
}

}  // namespace normlab::server
