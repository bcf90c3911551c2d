#include "worker/trouble_log.h"

#include <spdlog/spdlog.h>

namespace normlab::worker {

void TroubleLog::Note(const absl::Status& status) {
  // The text may name another attempt each time; the code tells whether the trouble is another one.
  if (status.code() == last_) return;
  last_ = status.code();
  if (status.ok()) {
    spdlog::info("{}", working_);
  } else {
    spdlog::warn("{}: {}", failing_, std::string(status.message()));
  }
}

}  // namespace normlab::worker
