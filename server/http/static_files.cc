#include "server/http/static_files.h"

#include <utility>

#include "core/sha256.h"
#include "core/strings.h"
#include "server/http/gzip.h"

namespace normlab::server {
namespace {

std::string ContentTypeOf(std::string_view path) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".json", "application/json"},
      {".woff2", "font/woff2"},
      {".png", "image/png"},
      {".txt", "text/plain; charset=utf-8"}};
  for (const auto& [ending, type] : kTypes) {
    if (path.ends_with(ending)) return std::string(type);
  }
  return "application/octet-stream";
}

// Whether an Accept-Encoding names gzip with a weight above nothing: "gzip;q=0" refuses it.
bool TakesGzip(std::string_view accepted) {
  for (const std::string_view coding : Split(accepted, ',')) {
    const std::vector<std::string_view> parts = Split(coding, ';');
    if (StripSpace(parts[0]) != "gzip") continue;
    if (parts.size() == 1) return true;
    double weight = 0;
    const std::string_view parameter = StripSpace(parts[1]);
    return parameter.starts_with("q=") && ParseDouble(parameter.substr(2), weight) && weight > 0;
  }
  return false;
}

}  // namespace

StaticFiles::StaticFiles(const std::vector<StaticFile>& files) {
  for (const StaticFile& file : files) {
    Entry entry;
    entry.bytes = file.bytes;
    entry.content_type = ContentTypeOf(file.path);
    entry.etag = Cat("\"", Sha256Hex(file.bytes).substr(0, 16), "\"");
    std::string gzip = Gzip(file.bytes);
    if (gzip.size() < file.bytes.size()) entry.gzip = std::move(gzip);
    entries_.emplace(file.path, std::move(entry));
  }
}

HttpReply StaticFiles::Find(const std::string& path, const HttpRequest& request) const {
  const auto found = entries_.find(path == "/" ? "/index.html" : path);
  if (found == entries_.end()) return ErrorReply(NotFound("there is no '", path, "' here"));
  const Entry& entry = found->second;
  HttpReply reply;
  reply.content_type = entry.content_type;
  reply.headers = {
      {"ETag", entry.etag},
      {"Vary", "Accept-Encoding"},
      {"Cache-Control",
       path.starts_with("/assets/") ? "public, max-age=31536000, immutable" : "no-cache"}};
  if (HeaderOf(request, "if-none-match") == entry.etag) {
    reply.status = 304;
    return reply;
  }
  const bool gzip = !entry.gzip.empty() && TakesGzip(HeaderOf(request, "accept-encoding"));
  if (gzip) reply.headers.emplace_back("Content-Encoding", "gzip");
  reply.body = gzip ? entry.gzip : std::string(entry.bytes);
  return reply;
}

}  // namespace normlab::server
