#include "server/http/access.h"

#include <algorithm>
#include <utility>

#include "core/equal_secrets.h"
#include "core/loopback.h"
#include "core/sha256.h"
#include "core/strings.h"

namespace normlab::server {
namespace {

constexpr absl::Duration kKeyLife = absl::Minutes(1);
constexpr size_t kMaxKeys = 1000;
constexpr int kCookieSeconds = 30 * 24 * 3600;
constexpr size_t kSessionIdLength = 32;

// "[::1]:7421" → "[::1]", "localhost:7421" → "localhost".
std::string_view WithoutPort(std::string_view host) {
  const size_t bracket = host.find(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  return host.substr(0, colon);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

Access::Access(std::string token, const std::string& instance, std::vector<std::string> hosts,
               Clock& clock, RandomSource& random)
    : token_(std::move(token)),
      cookie_name_(Cat("normlab-", instance.substr(0, 16))),
      hosts_(std::move(hosts)),
      clock_(clock),
      random_(random) {
  // Browsers send the name in lower case, however it was written down; ports do not matter.
  for (std::string& host : hosts_) host = std::string(WithoutPort(LowerCase(host)));
}

absl::Status Access::CheckSource(const HttpRequest& request) const {
  if (request.headers.count("host") != 1) {
    return InvalidArgument("a request needs exactly one Host header");
  }
  const std::string host = LowerCase(HeaderOf(request, "host"));
  const std::string name(WithoutPort(host));
  if (!IsLoopbackHost(name) && std::find(hosts_.begin(), hosts_.end(), name) == hosts_.end()) {
    return absl::PermissionDeniedError(
        Cat("this server is not called '", name, "'; if it should be, start it with --http-host"));
  }
  if (request.headers.count("origin") == 0) return absl::OkStatus();
  const std::string origin = LowerCase(HeaderOf(request, "origin"));
  if (request.headers.count("origin") == 1 &&
      (origin == Cat("http://", host) || origin == Cat("https://", host))) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(Cat("requests from '", origin, "' are not answered"));
}

absl::Status Access::CheckBearer(const HttpRequest& request) const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string header = HeaderOf(request, "authorization");
  if (request.headers.count("authorization") == 1 && header.starts_with(kScheme) &&
      EqualSecrets(std::string_view(header).substr(kScheme.size()), token_)) {
    return absl::OkStatus();
  }
  return absl::UnauthenticatedError("this needs the server's token as a bearer token");
}

absl::Status Access::CheckReader(const HttpRequest& request) const {
  if (CheckBearer(request).ok()) return absl::OkStatus();
  const auto [begin, end] = request.headers.equal_range("cookie");
  for (auto header = begin; header != end; ++header) {
    for (const std::string_view part : Split(header->second, ';')) {
      const std::string_view pair = StripSpace(part);
      const size_t equals = pair.find('=');
      if (equals == std::string_view::npos || pair.substr(0, equals) != cookie_name_) continue;
      if (GoodSession(pair.substr(equals + 1))) return absl::OkStatus();
    }
  }
  return absl::UnauthenticatedError(
      "not signed in: run `normlab open` and use the address it prints");
}

std::string Access::OneTimeKey() {
  const absl::Time now = clock_.MonotonicNow();
  MutexLock lock(mu_);
  std::erase_if(keys_, [now](const auto& entry) { return entry.second <= now; });
  if (keys_.size() >= kMaxKeys) keys_.clear();
  std::string key = random_.HexToken(16);
  keys_[key] = now + kKeyLife;
  return key;
}

absl::StatusOr<std::string> Access::Redeem(const std::string& key) {
  MutexLock lock(mu_);
  const auto found = keys_.find(key);
  const bool good = found != keys_.end() && clock_.MonotonicNow() < found->second;
  if (found != keys_.end()) keys_.erase(found);
  if (!good) {
    return absl::PermissionDeniedError(
        "this address was used before, or is older than a minute; run `normlab open` again");
  }
  const std::string id = random_.HexToken(kSessionIdLength / 2);
  return Cat(cookie_name_, "=", id, Signature(id),
             "; HttpOnly; SameSite=Strict; Path=/; Max-Age=", kCookieSeconds);
}

std::string Access::Signature(std::string_view id) const {
  // The id has a fixed length and the token stands on both sides, so that nothing can be appended.
  return Sha256Hex(Cat("normlab session\n", token_, "\n", cookie_name_, "\n", id, "\n", token_));
}

bool Access::GoodSession(std::string_view value) const {
  if (value.size() <= kSessionIdLength) return false;
  return EqualSecrets(value.substr(kSessionIdLength), Signature(value.substr(0, kSessionIdLength)));
}

}  // namespace normlab::server
