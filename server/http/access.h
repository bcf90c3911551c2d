#ifndef NORMLAB_SERVER_HTTP_ACCESS_H_
#define NORMLAB_SERVER_HTTP_ACCESS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "core/random.h"
#include "server/http/message.h"

namespace normlab::server {

// Decides who may read. Thread-safe.
//
// A visited web page must not get at the server through the user's browser: it may not name it by a
// host name of its own (Host is checked, against DNS rebinding), nor ask across origins (Origin is
// checked, and the cookie is SameSite=Strict).
class Access {
 public:
  // `instance` names the cookie; `hosts` are accepted besides the loopback names.
  Access(std::string token, const std::string& instance, std::vector<std::string> hosts,
         Clock& clock, RandomSource& random);

  // InvalidArgument without exactly one Host; PermissionDenied for a Host or an Origin that is not
  // ours.
  absl::Status CheckSource(const HttpRequest& request) const;

  // Unauthenticated unless the bearer token or the session cookie is right.
  absl::Status CheckReader(const HttpRequest& request) const;
  // The same for the bearer token alone (programs that scrape).
  absl::Status CheckBearer(const HttpRequest& request) const;

  // A key that Redeem takes once, within a minute.
  std::string OneTimeKey();

  // The Set-Cookie value for a good key; PermissionDenied for one that was used, is old or unknown.
  // The cookie is a signed random id: it outlives a restart of the server, for as long as the token
  // stays.
  absl::StatusOr<std::string> Redeem(const std::string& key);

 private:
  std::string Signature(std::string_view id) const;
  bool GoodSession(std::string_view value) const;

  const std::string token_;
  const std::string cookie_name_;
  std::vector<std::string> hosts_;  // lower case, no ports; never changes
  Clock& clock_;
  RandomSource& random_;
  Mutex mu_;
  std::map<std::string, absl::Time> keys_ GUARDED_BY(mu_);  // key → when it ends (monotonic)
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_ACCESS_H_
