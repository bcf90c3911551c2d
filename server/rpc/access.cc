#include "server/rpc/access.h"

#include "absl/strings/str_cat.h"
#include "core/equal_secrets.h"
#include "proto/channel.h"

namespace normlab::server {

grpc::Status CheckToken(const grpc::ServerContext& context, const std::string& token) {
  const std::string expected = absl::StrCat("Bearer ", token);
  const auto found = context.client_metadata().find("authorization");
  if (found != context.client_metadata().end() &&
      EqualSecrets({found->second.data(), found->second.size()}, expected)) {
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
