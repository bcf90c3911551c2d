#ifndef NORMLAB_SERVER_HTTP_SITE_H_
#define NORMLAB_SERVER_HTTP_SITE_H_

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "server/http/access.h"
#include "server/http/message.h"
#include "server/http/metrics.h"
#include "server/http/static_files.h"

namespace normlab::server {

// What documents are made from; thread-safe and outliving the site.
struct SiteBackends {
  // QueryApi::Get.
  std::function<absl::StatusOr<nlohmann::json>(const std::string& path,
                                               const std::map<std::string, std::string>& params)>
      read;
  // Not OK, with a reason, while the server cannot take work.
  std::function<absl::Status()> ready;
  // Numbers for /metrics, samples of one name side by side.
  std::function<std::vector<GaugeSample>()> gauges;
};

// Decides what a request gets: paths, methods, access. No sockets, no threads of its own.
class Site {
 public:
  // The reply takes a while to make: for a thread that may block.
  struct Deferred {
    std::function<HttpReply()> make;
  };
  // The request wants the live stream, and may have it.
  struct LiveStream {};
  using Answer = std::variant<HttpReply, Deferred, LiveStream>;

  Site(Access& access, const StaticFiles& files, Metrics& metrics, SiteBackends backends);

  Answer Handle(const HttpRequest& request) const;

  // Headers that every reply carries: the page may load nothing from elsewhere and be framed by
  // nobody; data is not kept by caches.
  static void AddCommonHeaders(HttpReply& reply);

 private:
  Answer Api(const HttpRequest& request, const std::string& path,
             const std::map<std::string, std::string>& params) const;
  HttpReply Open(const HttpRequest& request,
                 const std::map<std::string, std::string>& params) const;
  HttpReply Ready() const;

  Access& access_;
  const StaticFiles& files_;
  Metrics& metrics_;
  const SiteBackends backends_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_SITE_H_
