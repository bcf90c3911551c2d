#ifndef NORMLAB_WORKER_STOP_SIGNALS_H_
#define NORMLAB_WORKER_STOP_SIGNALS_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "core/file.h"

namespace normlab::worker {

// Turns SIGTERM, SIGINT and SIGUSR1 into calls on a thread of its own, where anything may be done.
// Make it before any other thread: threads inherit that the signals are held back from them.
class StopSignals {
 public:
  // `on_signal(n)` is called at the n-th signal, from 1.
  static absl::StatusOr<std::unique_ptr<StopSignals>> Catch(std::function<void(int)> on_signal);
  ~StopSignals();

 private:
  StopSignals(std::function<void(int)> on_signal, Fd signals, Fd quit);
  void Watch();
  const std::function<void(int)> on_signal_;
  const Fd signals_;
  const Fd quit_;
  std::thread thread_;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_STOP_SIGNALS_H_
