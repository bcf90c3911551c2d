#ifndef NORMLAB_SERVER_RPC_CLIENT_SERVICE_H_
#define NORMLAB_SERVER_RPC_CLIENT_SERVICE_H_

#include <string>
#include <utility>

#include "proto/client.grpc.pb.h"
#include "server/rpc/rpc_server.h"

namespace normlab::server {

// Service Client of proto/client.proto over the server's parts. Thread-safe.
class ClientService final : public v1::Client::Service {
 public:
  ClientService(std::string token, RpcBackends backends)
      : token_(std::move(token)), backends_(std::move(backends)) {}

  grpc::Status Read(grpc::ServerContext* context, const v1::ReadRequest* request,
                    v1::ReadReply* reply) override;
  grpc::Status Submit(grpc::ServerContext* context, const v1::SubmitRequest* request,
                      v1::SubmitReply* reply) override;
  grpc::Status Cancel(grpc::ServerContext* context, const v1::CancelRequest* request,
                      v1::CancelReply* reply) override;
  grpc::Status OneTimeKey(grpc::ServerContext* context, const v1::OneTimeKeyRequest* request,
                          v1::OneTimeKeyReply* reply) override;

 private:
  const std::string token_;
  const RpcBackends backends_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_RPC_CLIENT_SERVICE_H_
