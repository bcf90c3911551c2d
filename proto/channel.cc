#include "proto/channel.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace normlab {
namespace {

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  // A server that vanished without a word (cable, power) in the middle of a long call is noticed
  // within half a minute; it allows exactly this (server/rpc/rpc_server.cc).
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // A server that comes back is found within seconds: gRPC's own back-off grows to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name: how long one attempt to connect may take. A busy machine needs its time.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  // A proxy of the environment is for the wide world, not for a server on this machine or cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

// "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to
// remote host: Connection refused": people need the end of it.
std::string ReasonIn(const std::string& message) {
  const size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

}  // namespace

ServerChannel::ServerChannel(std::shared_ptr<grpc::Channel> channel, std::string address,
                             std::string token)
    : channel_(std::move(channel)), address_(std::move(address)), token_(std::move(token)) {}

absl::StatusOr<ServerChannel> ServerChannel::Open(const ConnectInfo& info) {
  if (info.grpc.empty()) {
    return absl::InvalidArgumentError("the connect file names no gRPC address");
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!info.ca.empty()) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = info.ca;
    credentials = grpc::SslCredentials(options);
  }
  return ServerChannel(grpc::CreateCustomChannel(info.grpc, credentials, Arguments()), info.grpc,
                       info.token);
}

void ServerChannel::Prepare(grpc::ClientContext& context, absl::Duration timeout) const {
  context.AddMetadata("authorization", absl::StrCat("Bearer ", token_));
  // gRPC counts in its own time: a span keeps our clocks out of it.
  context.set_deadline(gpr_time_from_millis(absl::ToInt64Milliseconds(timeout), GPR_TIMESPAN));
}

absl::Status ServerChannel::ToStatus(const grpc::Status& status) const {
  if (status.ok()) return absl::OkStatus();
  absl::Status ours(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
      status.error_details() != kFromServer) {
    return absl::UnavailableError(absl::StrCat("no normlab server answers at ", address_, " (",
                                               ReasonIn(status.error_message()), ")"));
  }
  return ours;
}

}  // namespace normlab
