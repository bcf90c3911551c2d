#ifndef NORMLAB_PROTO_CHANNEL_H_
#define NORMLAB_PROTO_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/connect_file.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace normlab {

// Messages larger than this are refused by both sides. Batches stay far below; documents may be
// long.
inline constexpr int kMaxMessageBytes = 64 << 20;

// Details of every status that a server itself gives, which tells it from one that gRPC makes up
// when it reaches nobody: both may be Unavailable.
inline constexpr char kFromServer[] = "normlab";

// An open way to a server, as its connect file describes it. Thread-safe; copies share one
// connection.
//
//   ServerChannel server = *ServerChannel::Open(info);
//   auto stub = v1::Client::NewStub(server.channel());
//   grpc::ClientContext context;
//   server.Prepare(context, absl::Seconds(30));
//   RETURN_IF_ERROR(server.ToStatus(stub->Read(&context, request, &reply)));
class ServerChannel {
 public:
  // Does not connect yet: the first call does, and fails with Unavailable when nobody listens.
  // TLS when the connect file holds a certificate, which is then the only one trusted.
  // InvalidArgument when it names no address.
  static absl::StatusOr<ServerChannel> Open(const ConnectInfo& info);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Gives `context` the token and a deadline `timeout` from now.
  void Prepare(grpc::ClientContext& context, absl::Duration timeout) const;

  // gRPC's status as ours, codes unchanged. Unavailable names the address where nobody answered,
  // unless the server itself says so.
  absl::Status ToStatus(const grpc::Status& status) const;

 private:
  ServerChannel(std::shared_ptr<grpc::Channel> channel, std::string address, std::string token);
  std::shared_ptr<grpc::Channel> channel_;
  std::string address_;
  std::string token_;
};

}  // namespace normlab

#endif  // NORMLAB_PROTO_CHANNEL_H_
