#ifndef NORMLAB_TESTS_BUILDERS_STATUS_MATCHERS_H_
#define NORMLAB_TESTS_BUILDERS_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/status.h"

namespace normlab {

// What bad input is answered with.
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// EXPECT_THAT(status_or_result, IsOk()): prints the status when it is not.
MATCHER(IsOk, "is OK") {
  const absl::Status status = internal::StatusOf(arg);
  *result_listener << status.ToString();
  return status.ok();
}

// Code and exact message.
MATCHER_P2(IsStatus, code, message, "") {
  const absl::Status status = internal::StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code && std::string(status.message()) == message;
}

// Code, and a message that contains the text.
MATCHER_P2(IsStatusWith, code, part, "") {
  const absl::Status status = internal::StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code && std::string(status.message()).find(part) != std::string::npos;
}

}  // namespace normlab

#endif  // NORMLAB_TESTS_BUILDERS_STATUS_MATCHERS_H_
