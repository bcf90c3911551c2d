#include "worker/grpc_server_link.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "core/status.h"
#include "proto/channel.h"
#include "proto/control.grpc.pb.h"

namespace normlab::worker {
namespace {

constexpr absl::Duration kSynchronizeTimeout = absl::Seconds(20);
constexpr absl::Duration kAppendTimeout = absl::Seconds(30);
constexpr absl::Duration kFetchTimeout = absl::Hours(6);

}  // namespace

struct GrpcServerLink::Connection {
  explicit Connection(ServerChannel server)
      : channel(std::move(server)), stub(v1::Control::NewStub(channel.channel())) {}
  ServerChannel channel;
  std::unique_ptr<v1::Control::Stub> stub;
};

GrpcServerLink::GrpcServerLink(std::string connect_file) : connect_file_(std::move(connect_file)) {
  Reread();
}

GrpcServerLink::~GrpcServerLink() = default;

std::string GrpcServerLink::Instance() {
  MutexLock lock(mu_);
  return info_.instance;
}

absl::StatusOr<std::shared_ptr<GrpcServerLink::Connection>> GrpcServerLink::Current() {
  {
    MutexLock lock(mu_);
    if (connection_ != nullptr) return connection_;
  }
  Reread();
  MutexLock lock(mu_);
  if (connection_ == nullptr) return unusable_;
  return connection_;
}

void GrpcServerLink::Reread() {
  auto info = ReadConnectFile(connect_file_);
  MutexLock lock(mu_);
  if (!info.ok()) {
    // A connection that was good once is kept: the file may be gone for a moment only.
    unusable_ = AddContext(info.status(), "Failed to find the server");
    if (unusable_.code() == absl::StatusCode::kNotFound) {
      unusable_ = absl::UnavailableError(unusable_.message());
    }
    return;
  }
  if (connection_ != nullptr && *info == info_) return;
  auto channel = ServerChannel::Open(*info);
  if (!channel.ok()) {
    unusable_ = channel.status();
    return;
  }
  info_ = *std::move(info);
  connection_ = std::make_shared<Connection>(*std::move(channel));
}

absl::Status GrpcServerLink::Noted(absl::Status status) {
  if (absl::IsUnavailable(status) || absl::IsUnauthenticated(status) ||
      absl::IsFailedPrecondition(status) || absl::IsDeadlineExceeded(status)) {
    Reread();
  }
  return status;
}

absl::StatusOr<v1::SynchronizeReply> GrpcServerLink::Synchronize(
    const v1::SynchronizeRequest& request) {
  ASSIGN_OR_RETURN(const auto connection, Current());
  grpc::ClientContext context;
  connection->channel.Prepare(context, kSynchronizeTimeout);
  v1::SynchronizeRequest sent = request;
  {
    MutexLock lock(mu_);
    if (std::exchange(wait_ended_, false)) sent.set_wait_ms(0);
    waiting_ = &context;
  }
  v1::SynchronizeReply reply;
  const grpc::Status status = connection->stub->Synchronize(&context, sent, &reply);
  {
    MutexLock lock(mu_);
    waiting_ = nullptr;
  }
  RETURN_IF_ERROR(Noted(connection->channel.ToStatus(status)));
  return reply;
}

void GrpcServerLink::EndWait() {
  MutexLock lock(mu_);
  if (waiting_ != nullptr) {
    waiting_->TryCancel();
  } else {
    wait_ended_ = true;
  }
}

absl::StatusOr<v1::AppendReply> GrpcServerLink::AppendRecords(const v1::AppendRequest& request) {
  ASSIGN_OR_RETURN(const auto connection, Current());
  grpc::ClientContext context;
  connection->channel.Prepare(context, kAppendTimeout);
  v1::AppendReply reply;
  RETURN_IF_ERROR(Noted(
      connection->channel.ToStatus(connection->stub->AppendRecords(&context, request, &reply))));
  return reply;
}

absl::Status GrpcServerLink::FetchDataset(
    const std::string& sha256, absl::FunctionRef<absl::Status(const v1::DatasetChunk&)> sink) {
  ASSIGN_OR_RETURN(const auto connection, Current());
  grpc::ClientContext context;
  connection->channel.Prepare(context, kFetchTimeout);
  v1::FetchDatasetRequest request;
  request.set_sha256(sha256);
  const auto reader = connection->stub->FetchDataset(&context, request);
  absl::Status sunk;
  v1::DatasetChunk chunk;
  while (sunk.ok() && reader->Read(&chunk)) sunk = sink(chunk);
  if (!sunk.ok()) context.TryCancel();
  const absl::Status status = connection->channel.ToStatus(reader->Finish());
  return sunk.ok() ? Noted(status) : sunk;
}

}  // namespace normlab::worker
