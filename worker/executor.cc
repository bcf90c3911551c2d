#include "worker/executor.h"

namespace normlab::worker {

void StopWish::Ask(FailureKind reason, bool now) {
  MutexLock lock(mu_);
  if (!wish_.asked) wish_.reason = reason;
  wish_.asked = true;
  wish_.now |= now;
}

StopWish::Wish StopWish::Get() const {
  MutexLock lock(mu_);
  return wish_;
}

}  // namespace normlab::worker
