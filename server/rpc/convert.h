#ifndef NORMLAB_SERVER_RPC_CONVERT_H_
#define NORMLAB_SERVER_RPC_CONVERT_H_

#include "absl/status/statusor.h"
#include "proto/client.pb.h"
#include "proto/control.pb.h"
#include "server/dispatch/messages.h"
#include "server/ingest/ingest.h"

// Between the messages on the wire and the plain values of the parts behind it: the rest of the
// server knows no protobuf.

namespace normlab::server {

// InvalidArgument for an id that cannot be one (0, negative, empty).
absl::StatusOr<SyncRequest> FromWire(const v1::SynchronizeRequest& message);
absl::StatusOr<AppendRequest> FromWire(const v1::AppendRequest& message);
SubmitRequest FromWire(const v1::SubmitRequest& message);

// Fills what the dispatcher decides; server_instance and datasets_dir are the service's.
v1::SynchronizeReply ToWire(const SyncReply& reply);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_RPC_CONVERT_H_
