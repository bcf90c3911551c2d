#ifndef NORMLAB_CORE_STATUS_H_
#define NORMLAB_CORE_STATUS_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace normlab {

// The same status with "prefix: " in front of its message (OK stays OK), so that an error reads
// from what was tried down to the cause: "Failed to read run.json: no such file".
absl::Status AddContext(absl::Status status, std::string_view prefix);

// Status of the current `errno` with the canonical code that fits it: "<what>: <strerror>".
absl::Status ErrnoStatus(int error_number, std::string_view what);

// True when the same call may succeed later without anybody changing anything.
bool IsRetryable(const absl::Status& status);

namespace internal {
inline absl::Status StatusOf(absl::Status status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}
}  // namespace internal

}  // namespace normlab

#define NORMLAB_CONCAT_INNER_(a, b) a##b
#define NORMLAB_CONCAT_(a, b) NORMLAB_CONCAT_INNER_(a, b)

// Returns from the enclosing function when `expression` (Status or StatusOr) is not OK.
#define RETURN_IF_ERROR(expression)                                        \
  do {                                                                     \
    if (auto return_if_error_ = ::normlab::internal::StatusOf(expression); \
        !return_if_error_.ok()) {                                          \
      return return_if_error_;                                             \
    }                                                                      \
  } while (false)

// Evaluates a StatusOr; returns its status from the enclosing function, or moves its value to
// `lhs`.
#define ASSIGN_OR_RETURN(lhs, expression) \
  ASSIGN_OR_RETURN_IMPL_(NORMLAB_CONCAT_(status_or_, __LINE__), lhs, expression)
#define ASSIGN_OR_RETURN_IMPL_(name, lhs, expression) \
  auto name = (expression);                           \
  if (!name.ok()) return std::move(name).status();    \
  lhs = *std::move(name)

#endif  // NORMLAB_CORE_STATUS_H_
