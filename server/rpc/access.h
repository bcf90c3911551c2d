#ifndef NORMLAB_SERVER_RPC_ACCESS_H_
#define NORMLAB_SERVER_RPC_ACCESS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace normlab::server {

// OK when the call carries "authorization: Bearer `token`", else UNAUTHENTICATED. Takes the same
// time however much of the token is right.
grpc::Status CheckToken(const grpc::ServerContext& context, const std::string& token);

// Our status as gRPC's, codes unchanged.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_RPC_ACCESS_H_
