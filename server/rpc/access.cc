#include "server/rpc/access.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "proto/channel.h"

namespace normlab::server {
namespace {

bool SameInConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

grpc::Status CheckToken(const grpc::ServerContext& context, const std::string& token) {
  const std::string expected = absl::StrCat("Bearer ", token);
  const auto found = context.client_metadata().find("authorization");
  if (found != context.client_metadata().end() &&
      SameInConstantTime({found->second.data(), found->second.size()}, expected)) {
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::UNAUTHENTICATED,
          "this server does not know the token; read its connect.json again"};
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message()), kFromServer};
}

}  // namespace normlab::server
