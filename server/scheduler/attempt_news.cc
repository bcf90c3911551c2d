#include "server/scheduler/attempt_news.h"

namespace normlab::server {

FailureKind FailureOf(int exit_code, int signal, const std::string& reason) {
  if (reason.empty()) return FailureOfExit(exit_code, signal);
  // A reason of a newer worker that is not known here is still a failure.
  return ParseFailureKind(reason).value_or(FailureKind::kCodeError);
}

bool IsSetupFailure(int exit_code, const std::string& reason) {
  return reason == ToString(FailureKind::kConfigError) &&
         exit_code != static_cast<int>(TrainerExit::kBadConfig);
}

}  // namespace normlab::server
