#include "server/host_names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <unistd.h>

#include <memory>

#include "core/strings.h"

namespace normlab::server {
namespace {

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

bool CanBeLookedUp(const std::string& name) {
  addrinfo* found = nullptr;
  if (name.empty() || getaddrinfo(name.c_str(), nullptr, nullptr, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

std::string TextOf(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof(text));
  } else if (address.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text,
              sizeof(text));
  }
  return text;
}

// Of every interface, loopback last.
std::vector<std::string> Addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, freeifaddrs);
  std::vector<std::string> addresses;
  std::vector<std::string> loopback;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const std::string text = each->ifa_addr != nullptr ? TextOf(*each->ifa_addr) : "";
    if (text.empty()) continue;
    (text.starts_with("127.") || text == "::1" ? loopback : addresses).push_back(text);
  }
  addresses.insert(addresses.end(), loopback.begin(), loopback.end());
  return addresses;
}

bool IsWildcard(const std::string& host) {
  return host == "0.0.0.0" || host == "::" || host == "*";
}

}  // namespace

std::string HostOf(std::string_view address) {
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

std::string AdvertisedAddress(const std::string& listen, const std::string& asked) {
  const std::string port = listen.substr(listen.rfind(':'));
  std::string host = asked.empty() ? HostOf(listen) : asked;
  if (IsWildcard(host)) {
    host = HostName();
    const std::vector<std::string> addresses = Addresses();
    if (!CanBeLookedUp(host) && !addresses.empty()) host = addresses.front();
  }
  return host.find(':') == std::string::npos ? host + port : Cat("[", host, "]", port);
}

std::vector<std::string> OwnNames() {
  std::vector<std::string> names = {"localhost"};
  if (const std::string name = HostName(); !name.empty()) names.push_back(name);
  for (std::string& address : Addresses()) names.push_back(std::move(address));
  return names;
}

}  // namespace normlab::server
