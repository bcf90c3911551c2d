#ifndef NORMLAB_WORKER_SERVER_LINK_H_
#define NORMLAB_WORKER_SERVER_LINK_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace normlab::v1 {
class AppendReply;
class AppendRequest;
class DatasetChunk;
class SynchronizeReply;
class SynchronizeRequest;
}  // namespace normlab::v1

namespace normlab::worker {

// The worker's way to its server: the calls of proto/control.proto, whose statuses they give back.
// Thread-safe; calls block until their deadline at most.
class ServerLink {
 public:
  virtual ~ServerLink() = default;

  // `instance` of the server that calls go to now; it changes only when an error made the link read
  // another connect file.
  virtual std::string Instance() = 0;

  virtual absl::StatusOr<v1::SynchronizeReply> Synchronize(
      const v1::SynchronizeRequest& request) = 0;

  // From another thread: a Synchronize that waits for news ends with Cancelled; without one, the
  // next one does not wait.
  virtual void EndWait() = 0;

  virtual absl::StatusOr<v1::AppendReply> AppendRecords(const v1::AppendRequest& request) = 0;

  // Hands every chunk to `sink` as it comes; an error of the sink ends the call and comes back.
  virtual absl::Status FetchDataset(
      const std::string& sha256, absl::FunctionRef<absl::Status(const v1::DatasetChunk&)> sink) = 0;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_SERVER_LINK_H_
