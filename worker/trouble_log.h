#ifndef NORMLAB_WORKER_TROUBLE_LOG_H_
#define NORMLAB_WORKER_TROUBLE_LOG_H_

#include <string>
#include <utility>

#include "absl/status/status.h"

namespace normlab::worker {

// Tells how something that is done over and over goes: a warning with the reason when it begins to
// fail or fails in another way, a line when it works again, and nothing in between. One thread.
class TroubleLog {
 public:
  // `failing` goes before the reason ("cannot hand records over"); `working` is the whole line that
  // ends the trouble.
  TroubleLog(std::string failing, std::string working)
      : failing_(std::move(failing)), working_(std::move(working)) {}

  void Note(const absl::Status& status);

 private:
  const std::string failing_;
  const std::string working_;
  absl::StatusCode last_ = absl::StatusCode::kOk;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_TROUBLE_LOG_H_
