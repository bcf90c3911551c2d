#ifndef NORMLAB_SERVER_HTTP_STATIC_FILES_H_
#define NORMLAB_SERVER_HTTP_STATIC_FILES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace normlab::server {

struct StaticFile {
  std::string_view path;   // "/index.html"
  std::string_view bytes;  // outlives the server
};

// The dashboard's files, compressed once at the start. They hold no data, so nobody has to be
// signed in to get them. Immutable; thread-safe.
class StaticFiles {
 public:
  explicit StaticFiles(const std::vector<StaticFile>& files);

  // "/" is "/index.html". 404 for a path that is not there. Files whose name has a content hash
  // ("/assets/…") may be kept by the browser for ever, others are asked for again every time.
  HttpReply Find(const std::string& path, const HttpRequest& request) const;

 private:
  struct Entry {
    std::string_view bytes;
    std::string gzip;  // empty when it would not be smaller
    std::string content_type;
    std::string etag;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_STATIC_FILES_H_
