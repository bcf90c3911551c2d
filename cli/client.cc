#include "cli/client.h"

#include <utility>

#include "absl/time/time.h"
#include "core/connect_file.h"
#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"
#include "grpcpp/grpcpp.h"
#include "nlohmann/json.hpp"
#include "proto/channel.h"
#include "proto/client.grpc.pb.h"

namespace normlab::cli {
namespace {

// A submission of ten thousand cells takes seconds; nothing takes minutes.
constexpr absl::Duration kCallTimeout = absl::Seconds(60);

}  // namespace

struct Client::Connection {
  ConnectInfo info;
  ServerChannel server;
  std::unique_ptr<v1::Client::Stub> stub;
};

Client::Client(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ConnectInfo& info) {
  ASSIGN_OR_RETURN(ServerChannel server, ServerChannel::Open(info));
  auto stub = v1::Client::NewStub(server.channel());
  return std::unique_ptr<Client>(new Client(
      std::make_unique<Connection>(Connection{info, std::move(server), std::move(stub)})));
}

absl::StatusOr<std::unique_ptr<Client>> Client::Find(const Context& context) {
  absl::StatusOr<ConnectInfo> info = FindConnect({context.connect, context.data}, ProcessEnv());
  // No connect file means that no server was ever started there.
  if (absl::IsNotFound(info.status())) return absl::UnavailableError(info.status().message());
  RETURN_IF_ERROR(info);
  ASSIGN_OR_RETURN(std::unique_ptr<Client> client, Connect(*info));
  RETURN_IF_ERROR(client->Read("/api/v1/server", {}));
  return client;
}

absl::StatusOr<nlohmann::json> Client::Read(const std::string& path,
                                            const std::map<std::string, std::string>& params) {
  grpc::ClientContext call;
  connection_->server.Prepare(call, kCallTimeout);
  v1::ReadRequest request;
  request.set_path(path);
  request.mutable_params()->insert(params.begin(), params.end());
  v1::ReadReply reply;
  RETURN_IF_ERROR(connection_->server.ToStatus(connection_->stub->Read(&call, request, &reply)));
  return ParseJson(reply.json());
}

absl::StatusOr<nlohmann::json> Client::Submit(const SubmitCall& submission) {
  grpc::ClientContext call;
  connection_->server.Prepare(call, kCallTimeout);
  v1::SubmitRequest request;
  request.set_spec_json(submission.spec_json);
  request.set_client_key(submission.client_key);
  request.set_fresh(submission.fresh);
  request.set_dry_run(submission.dry_run);
  request.set_max_failures(submission.max_failures);
  v1::SubmitReply reply;
  RETURN_IF_ERROR(connection_->server.ToStatus(connection_->stub->Submit(&call, request, &reply)));
  return ParseJson(reply.json());
}

absl::StatusOr<nlohmann::json> Client::Cancel(const std::string& selector,
                                              const std::string& reason) {
  grpc::ClientContext call;
  connection_->server.Prepare(call, kCallTimeout);
  v1::CancelRequest request;
  request.set_selector(selector);
  request.set_reason(reason);
  v1::CancelReply reply;
  RETURN_IF_ERROR(connection_->server.ToStatus(connection_->stub->Cancel(&call, request, &reply)));
  return ParseJson(reply.json());
}

absl::StatusOr<std::string> Client::OneTimeAddress() {
  grpc::ClientContext call;
  connection_->server.Prepare(call, kCallTimeout);
  v1::OneTimeKeyReply reply;
  RETURN_IF_ERROR(connection_->server.ToStatus(
      connection_->stub->OneTimeKey(&call, v1::OneTimeKeyRequest(), &reply)));
  return Cat(connection_->info.http, "/open?key=", reply.key());
}

}  // namespace normlab::cli
