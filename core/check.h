#ifndef NORMLAB_CORE_CHECK_H_
#define NORMLAB_CORE_CHECK_H_

#include <sstream>

// CHECK is for our own bugs only: a false condition prints file, line, the condition and what was
// streamed in, then aborts. What a user, a disk or a network can cause is an absl::Status instead.

namespace normlab::internal {

// Collects the message of a failed check; aborts the process when it goes out of scope.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Turns the streamed expression into void, so that both arms of CHECK's conditional agree.
struct CheckVoid {
  void operator&(std::ostream&) const {}
};

}  // namespace normlab::internal

#define CHECK(condition)                           \
  (condition) ? static_cast<void>(0)               \
              : ::normlab::internal::CheckVoid() & \
                    ::normlab::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

#define CHECK_OP_(a, op, b) CHECK((a)op(b)) << (a) << " against " << (b) << " "
#define CHECK_EQ(a, b) CHECK_OP_(a, ==, b)
#define CHECK_NE(a, b) CHECK_OP_(a, !=, b)
#define CHECK_LT(a, b) CHECK_OP_(a, <, b)
#define CHECK_LE(a, b) CHECK_OP_(a, <=, b)
#define CHECK_GT(a, b) CHECK_OP_(a, >, b)
#define CHECK_GE(a, b) CHECK_OP_(a, >=, b)
// Aborts with the status when `expression` is not OK.
#define CHECK_OK(expression)                                     \
  do {                                                           \
    const auto check_ok_status_ = (expression);                  \
    CHECK(check_ok_status_.ok()) << check_ok_status_.ToString(); \
  } while (false)

#endif  // NORMLAB_CORE_CHECK_H_
