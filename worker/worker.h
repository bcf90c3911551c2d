#ifndef NORMLAB_WORKER_WORKER_H_
#define NORMLAB_WORKER_WORKER_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace normlab::worker {

// What running attempts do when the server has been unreachable for longer than a lease.
enum class OnServerLost {
  kFinish,  // train to the end; the logs wait on disk for a server
  kStop     // checkpoint and end, as when preempted
};

struct WorkerOptions {
  // Read at the start and again whenever the server cannot be reached: a server that moved is
  // found.
  std::string connect_file;
  // datasets/, checkpoints/ and attempts/NAME/ are made below it. Several workers may share it
  // under different names; one that finds its name taken by a living process waits until that one
  // ends.
  std::string data_dir;
  std::string name = "worker";
  int slots = 0;                  // trainers at a time; 0: one per GPU, else 1
  std::vector<std::string> gpus;  // as in CUDA_VISIBLE_DEVICES; empty: train on CPUs
  // Ends after so long without work, and so long without a server once nothing runs any more.
  absl::Duration idle_timeout = absl::InfiniteDuration();
  OnServerLost on_server_lost = OnServerLost::kFinish;
  std::string trainer_path;  // normlab-trainer
  // Child of `normlab serve` on the same machine and data folder. Lives on when the server dies, so
  // that the next one adopts it, but not for longer than ten minutes after its last attempt.
  bool local = false;
};

// Exit codes of a worker.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRefused = 4;
inline constexpr int kExitUnreachable = 5;

// Serves attempts until SIGTERM or SIGINT (trainers checkpoint and end, their logs are handed over
// if the server answers), or the idle time-out. A second signal kills the trainers. Prints to
// standard error. Returns the exit code: 0 fine, 2 bad options, 4 refused by the server, 5 no
// server was ever reached within a minute of the start.
int RunWorker(const WorkerOptions& options);

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_WORKER_H_
