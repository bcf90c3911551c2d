#ifndef NORMLAB_WORKER_GRPC_SERVER_LINK_H_
#define NORMLAB_WORKER_GRPC_SERVER_LINK_H_

#include <memory>
#include <string>

#include "core/connect_file.h"
#include "core/mutex.h"
#include "worker/server_link.h"

namespace grpc {
class ClientContext;
}

namespace normlab::worker {

// The real link. A call that finds no server, or one that refuses the token or the instance, makes
// it read the connect file again: a server that moved is found at the next call.
class GrpcServerLink : public ServerLink {
 public:
  // The connect file need not be readable yet: calls then fail with its error.
  explicit GrpcServerLink(std::string connect_file);
  ~GrpcServerLink() override;

  std::string Instance() override;
  absl::StatusOr<v1::SynchronizeReply> Synchronize(const v1::SynchronizeRequest& request) override;
  void EndWait() override;
  absl::StatusOr<v1::AppendReply> AppendRecords(const v1::AppendRequest& request) override;
  absl::Status FetchDataset(const std::string& sha256,
                            absl::FunctionRef<absl::Status(const v1::DatasetChunk&)> sink) override;

 private:
  struct Connection;
  absl::StatusOr<std::shared_ptr<Connection>> Current();
  void Reread();
  // Rereads when `status` says that it might help; gives it back.
  absl::Status Noted(absl::Status status);

  const std::string connect_file_;
  Mutex mu_;
  ConnectInfo info_ GUARDED_BY(mu_);
  absl::Status unusable_ GUARDED_BY(mu_);  // why there is no connection
  std::shared_ptr<Connection> connection_ GUARDED_BY(mu_);
  grpc::ClientContext* waiting_ GUARDED_BY(mu_) = nullptr;  // the Synchronize under way
  bool wait_ended_ GUARDED_BY(mu_) = false;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_GRPC_SERVER_LINK_H_
