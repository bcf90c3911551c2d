#ifndef NORMLAB_SERVER_HTTP_HTTP_SERVER_H_
#define NORMLAB_SERVER_HTTP_HTTP_SERVER_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/ids.h"
#include "core/random.h"
#include "server/http/site.h"
#include "server/http/static_files.h"

namespace normlab::server {

struct HttpServerOptions {
  std::string address;             // "127.0.0.1:7421", loopback only; port 0: any free one
  std::string token;               // bearer token
  std::string instance;            // names the cookie, so that two servers on a host do not mix
  std::vector<std::string> hosts;  // accepted in Host besides loopback names
  std::vector<StaticFile> files;   // the dashboard
  int query_threads = 2;           // documents being made at a time
  absl::Duration live_interval = absl::Milliseconds(250);  // between two events of one stream
  absl::Duration heartbeat = absl::Seconds(15);            // of quiet streams
};

// The HTTP side of the server: dashboard, JSON documents, live stream, metrics. One thread runs
// every connection (an idle stream costs only memory); documents are made by a small pool
// beside it. Only reads: nothing that a browser sends changes state.
//
// Access: "Authorization: Bearer TOKEN", or the session cookie that GET /open?key=KEY sets for a
// key made by OneTimeKey. Host must be a loopback name or one of `hosts`; an Origin, if sent, must
// be this server. /healthz, /readyz and the dashboard's files (which hold no data) are open.
class HttpServer {
 public:
  // Listens when it returns. FailedPrecondition: the address is taken or not loopback;
  // InvalidArgument: no address.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           SiteBackends backends, Clock& clock,
                                                           RandomSource& random);
  // Ends open connections, waits for documents being made.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

  // A key that lets one browser in, once, within a minute.
  std::string OneTimeKey();

  // Tells every live stream that these changed; collected and sent at most four times a second.
  void Announce(const std::set<SweepId>& sweeps, const std::set<RunId>& runs);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_HTTP_SERVER_H_
