#include "server/rpc/rpc_server.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/loopback.h"
#include "core/status.h"
#include "proto/channel.h"
#include "server/dispatch/dispatcher.h"
#include "server/rpc/access.h"
#include "server/rpc/client_service.h"
#include "server/rpc/control_service.h"

namespace normlab::server {
namespace {

constexpr int kShutdownMs = 2'000;

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Credentials(
    const RpcServerOptions& options) {
  if (options.certificate_file.empty() && options.key_file.empty()) {
    if (!IsLoopbackAddress(options.address)) {
      return absl::FailedPreconditionError(
          absl::StrCat(options.address, " can be reached from other machines: that needs TLS ",
                       "(a certificate and its key)"));
    }
    return grpc::InsecureServerCredentials();
  }
  const auto certificate = ReadFile(options.certificate_file);
  const auto key = ReadFile(options.key_file);
  for (const absl::Status& status : {certificate.status(), key.status()}) {
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("Failed to set up TLS: ", status.message()));
    }
  }
  grpc::SslServerCredentialsOptions ssl;
  ssl.pem_key_cert_pairs.push_back({*key, *certificate});
  return grpc::SslServerCredentials(ssl);
}

void Configure(grpc::ServerBuilder& builder) {
  // What gRPC has to say, a taken port above all, comes back as a status; its own lines on standard
  // error would only frighten.
  gpr_set_log_function([](gpr_log_func_args*) {});
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  // gRPC would share a port with another server and answer every second call.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // As often as our channels ping (proto/channel.cc), with room to spare.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
}

}  // namespace

struct RpcServer::Parts {
  Parts(const RpcServerOptions& options, const RpcBackends& backends)
      : dispatcher(backends.dispatcher),
        control(options, backends),
        client(options.token, backends) {}
  Dispatcher* dispatcher;
  ControlService control;
  ClientService client;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

RpcServer::RpcServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options,
                                                            const RpcBackends& backends) {
  ASSIGN_OR_RETURN(const auto credentials, Credentials(options));
  auto parts = std::make_unique<Parts>(options, backends);
  grpc::ServerBuilder builder;
  Configure(builder);
  builder.AddListeningPort(options.address, credentials, &parts->port);
  builder.RegisterService(&parts->control);
  builder.RegisterService(&parts->client);
  parts->server = builder.BuildAndStart();
  if (parts->server == nullptr || parts->port == 0) {
    return absl::FailedPreconditionError(absl::StrCat("Failed to listen on ", options.address,
                                                      ": the address is taken or not ours"));
  }
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(parts)));
}

RpcServer::~RpcServer() {
  parts_->dispatcher->EndWaits();
  parts_->server->Shutdown(gpr_time_from_millis(kShutdownMs, GPR_TIMESPAN));
  parts_->server->Wait();
}

int RpcServer::port() const { return parts_->port; }

}  // namespace normlab::server
