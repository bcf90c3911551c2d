#ifndef NORMLAB_WORKER_DATASET_CACHE_H_
#define NORMLAB_WORKER_DATASET_CACHE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/mutex.h"
#include "worker/server_link.h"

namespace normlab::worker {

// Finds data sets by their SHA-256: in the worker's own folder, in the server's when the two see
// the same files, else by fetching it once. Thread-safe; one fetch at a time.
class DatasetCache {
 public:
  // `dir`: the worker's datasets/. `link` outlives this.
  DatasetCache(std::string dir, ServerLink& link);

  // The folder of the data set. A fetched one is checked byte for byte against `sha256` and then
  // put in place by a rename, so that a folder that is there is whole; others are taken at the word
  // of their meta.json and the size of their token files. NotFound: the server has none such;
  // FailedPrecondition: nor has it, since what bears this name has changed; DataLoss: what came is
  // not what was asked for; retryable errors of the link (core/status.h).
  absl::StatusOr<std::string> Find(const std::string& name, const std::string& sha256,
                                   const std::string& server_datasets_dir);

 private:
  absl::Status Fetch(const std::string& sha256, const std::string& destination);
  const std::string dir_;
  ServerLink& link_;
  Mutex fetching_;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_DATASET_CACHE_H_
