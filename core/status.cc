#include "core/status.h"

#include <cerrno>
#include <system_error>

#include "core/strings.h"

namespace normlab {

namespace {

absl::StatusCode CodeOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ESRCH:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EPIPE:
    case EAGAIN:
    case ECONNREFUSED:
    case ECONNRESET:
      return absl::StatusCode::kUnavailable;
    case EINVAL:
    case ENAMETOOLONG:
      return absl::StatusCode::kInvalidArgument;
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kUnknown;
  }
}

}  // namespace

absl::Status AddContext(absl::Status status, std::string_view prefix) {
  if (status.ok()) return status;
  return absl::Status(status.code(), Cat(prefix, ": ", status.message()));
}

absl::Status ErrnoStatus(int error_number, std::string_view what) {
  const std::string reason = std::generic_category().message(error_number);
  return absl::Status(CodeOfErrno(error_number), Cat(what, ": ", reason));
}

bool IsRetryable(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status) || absl::IsAborted(status);
}

}  // namespace normlab
