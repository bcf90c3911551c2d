#ifndef NORMLAB_SERVER_RPC_DATASET_STREAM_H_
#define NORMLAB_SERVER_RPC_DATASET_STREAM_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "proto/control.pb.h"

namespace normlab::server {

// Hands every file of the data set with digest `sha256` below `datasets_dir` to `send`, in pieces
// of at most 1 MiB. Ends quietly when `send` returns false: the receiver is gone. NotFound: no such
// data set; errors of the disk.
absl::Status StreamDataset(const std::string& datasets_dir, const std::string& sha256,
                           absl::FunctionRef<bool(const v1::DatasetChunk&)> send);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_RPC_DATASET_STREAM_H_
