#ifndef NORMLAB_SERVER_RPC_CONTROL_SERVICE_H_
#define NORMLAB_SERVER_RPC_CONTROL_SERVICE_H_

#include <utility>

#include "proto/control.grpc.pb.h"
#include "server/rpc/rpc_server.h"

namespace normlab::server {

// Service Control of proto/control.proto over dispatcher and ingest. Thread-safe.
class ControlService final : public v1::Control::Service {
 public:
  ControlService(RpcServerOptions options, RpcBackends backends)
      : options_(std::move(options)), backends_(std::move(backends)) {}

  grpc::Status Synchronize(grpc::ServerContext* context, const v1::SynchronizeRequest* request,
                           v1::SynchronizeReply* reply) override;
  grpc::Status AppendRecords(grpc::ServerContext* context, const v1::AppendRequest* request,
                             v1::AppendReply* reply) override;
  grpc::Status FetchDataset(grpc::ServerContext* context, const v1::FetchDatasetRequest* request,
                            grpc::ServerWriter<v1::DatasetChunk>* writer) override;

 private:
  const RpcServerOptions options_;
  const RpcBackends backends_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_RPC_CONTROL_SERVICE_H_
