#include "server/http/site.h"

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/http/url.h"

namespace normlab::server {
namespace {

HttpReply PlainText(int status, std::string text) {
  HttpReply reply;
  reply.status = status;
  reply.content_type = "text/plain; charset=utf-8";
  reply.body = std::move(text);
  return reply;
}

HttpReply Unauthenticated(const absl::Status& status) {
  HttpReply reply = ErrorReply(status, "run `normlab open`, or send the token of connect.json");
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

HttpReply DocumentReply(const absl::StatusOr<nlohmann::json>& document) {
  if (!document.ok()) return ErrorReply(document.status());
  HttpReply reply;
  reply.content_type = "application/json";
  reply.body = DumpStrict(*document);
  return reply;
}

HttpReply NotAllowed(const std::string& allowed, const std::string& hint) {
  HttpReply reply = ErrorReply(InvalidArgument("only ", allowed, " is answered here"), hint);
  reply.status = 405;
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

// What the browser fetches in case somebody wants it; nobody may ever see the reply.
bool IsFetchedAhead(const HttpRequest& request) {
  return request.headers.contains("sec-purpose") || request.headers.contains("purpose");
}

bool HasHeader(const HttpReply& reply, std::string_view name) {
  return std::any_of(reply.headers.begin(), reply.headers.end(),
                     [name](const auto& header) { return header.first == name; });
}

}  // namespace

Site::Site(Access& access, const StaticFiles& files, Metrics& metrics, SiteBackends backends)
    : access_(access), files_(files), metrics_(metrics), backends_(std::move(backends)) {}

Site::Answer Site::Handle(const HttpRequest& request) const {
  if (absl::Status status = access_.CheckSource(request); !status.ok()) return ErrorReply(status);
  if (request.method != "GET" && request.method != "HEAD") {
    return NotAllowed("GET, HEAD", "changes are made by the command line");
  }
  const absl::StatusOr<Target> target = ParseTarget(request.target);
  if (!target.ok()) return ErrorReply(target.status());
  const std::string& path = target->path;
  if (path.starts_with("/api/")) return Api(request, path, target->params);
  if (path == "/healthz") return PlainText(200, "ok\n");
  if (path == "/readyz") return Deferred{[this] { return Ready(); }};
  if (path == "/open") return Open(request, target->params);
  if (path == "/metrics") {
    if (absl::Status status = access_.CheckBearer(request); !status.ok()) {
      return Unauthenticated(status);
    }
    return Deferred{[this] {
      HttpReply reply = PlainText(200, metrics_.Text(backends_.gauges()));
      reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
      return reply;
    }};
  }
  return files_.Find(path, request);
}

Site::Answer Site::Api(const HttpRequest& request, const std::string& path,
                       const std::map<std::string, std::string>& params) const {
  if (absl::Status status = access_.CheckReader(request); !status.ok()) {
    return Unauthenticated(status);
  }
  if (path == "/api/v1/live") return LiveStream{};
  return Deferred{[this, path, params] { return DocumentReply(backends_.read(path, params)); }};
}

// The one path whose GET has an effect: it uses the key up.
HttpReply Site::Open(const HttpRequest& request,
                     const std::map<std::string, std::string>& params) const {
  if (request.method != "GET") return NotAllowed("GET", "a key works once");
  if (IsFetchedAhead(request)) return PlainText(503, "normlab: not opened ahead of time\n");
  const auto key = params.find("key");
  const absl::StatusOr<std::string> cookie = access_.Redeem(key == params.end() ? "" : key->second);
  if (!cookie.ok()) return PlainText(403, Cat("normlab: ", cookie.status().message(), "\n"));
  HttpReply reply = PlainText(302, "");
  reply.headers = {{"Location", "/"}, {"Set-Cookie", *cookie}};
  return reply;
}

HttpReply Site::Ready() const {
  const absl::Status status = backends_.ready();
  if (status.ok()) return PlainText(200, "ready\n");
  return PlainText(503, Cat(status.message(), "\n"));
}

void Site::AddCommonHeaders(HttpReply& reply) {
  // Styles may be set on single elements: the chart library and Preact do so.
  reply.headers.emplace_back("Content-Security-Policy",
                             "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "
                             "data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
                             "frame-ancestors 'none'");
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
  reply.headers.emplace_back("Referrer-Policy", "no-referrer");
  reply.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  reply.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  if (!HasHeader(reply, "Cache-Control")) reply.headers.emplace_back("Cache-Control", "no-store");
}

}  // namespace normlab::server
