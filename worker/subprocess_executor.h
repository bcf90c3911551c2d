#ifndef NORMLAB_WORKER_SUBPROCESS_EXECUTOR_H_
#define NORMLAB_WORKER_SUBPROCESS_EXECUTOR_H_

#include <string>

#include "core/clock.h"
#include "worker/executor.h"

namespace normlab::worker {

struct SubprocessExecutorOptions {
  std::string trainer_path;
  // From SIGTERM ("checkpoint and end") to SIGKILL.
  absl::Duration grace = absl::Seconds(60);
};

// Runs each attempt as a process: `TRAINER run --config ENVELOPE --frames FD`. Frames come through
// a pipe, standard output and error become log lines. The process ends with this worker: it asks
// for that itself (PR_SET_PDEATHSIG), and sees the pipe break.
//
// The death signal follows the thread that spawned, not the process: Run stays on one thread from
// the start of the trainer to its end.
class SubprocessExecutor : public Executor {
 public:
  SubprocessExecutor(SubprocessExecutorOptions options, Clock& clock);

  ExitRecord Run(const Launch& launch, const StopWish& stop, HeldAttempt& attempt) override;

 private:
  const SubprocessExecutorOptions options_;
  Clock& clock_;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_SUBPROCESS_EXECUTOR_H_
