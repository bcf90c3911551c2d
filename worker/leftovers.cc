#include "worker/leftovers.h"

#include <spdlog/spdlog.h>

#include <vector>

#include "core/file.h"
#include "core/process_lock.h"
#include "core/status.h"

namespace normlab::worker {
namespace {

absl::Status TakeOverFrom(const std::string& dir, AttemptStore& store,
                          const std::string& instance) {
  const auto lock = ProcessLock::TryTake(JoinPath(dir, "LOCK"));
  if (absl::IsAlreadyExists(lock.status())) return absl::OkStatus();
  RETURN_IF_ERROR(lock);
  ASSIGN_OR_RETURN(const int adopted, store.Adopt(dir, instance));
  if (adopted > 0) {
    spdlog::info("handing over {} attempt(s) that another worker left in {}", adopted, dir);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TakeOverLeftovers(const std::string& attempts_dir, const std::string& own_name,
                               AttemptStore& store, const std::string& instance) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDir(attempts_dir));
  absl::Status first_error;
  for (const std::string& name : names) {
    const std::string dir = JoinPath(attempts_dir, name);
    // A folder without a LOCK is no worker's.
    if (name == own_name || !FileExists(JoinPath(dir, "LOCK"))) continue;
    first_error.Update(AddContext(TakeOverFrom(dir, store, instance),
                                  "Failed to take over what another worker left"));
  }
  return first_error;
}

}  // namespace normlab::worker
