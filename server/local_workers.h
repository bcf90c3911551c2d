#ifndef NORMLAB_SERVER_LOCAL_WORKERS_H_
#define NORMLAB_SERVER_LOCAL_WORKERS_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/data_folder.h"
#include "core/mutex.h"
#include "core/subprocess.h"

namespace normlab::server {

struct LocalWorkersOptions {
  int count = 1;
  std::vector<std::string> gpus;  // dealt out in turn; a worker without any trains on CPUs
  std::string program;            // `normlab`
  std::string trainer_path;       // empty: found beside `program`
  std::vector<int> cpus;          // usable ones; each worker gets its part when there are enough
};

// The command of worker `index` (from 0): "local-1" on data folder `data`.
SpawnOptions LocalWorkerCommand(const LocalWorkersOptions& options, const DataFolder& data,
                                int index);

// How many GPUs this machine's driver knows, as CUDA_VISIBLE_DEVICES names them: that variable's
// list when it is set, else "0", "1", …
std::vector<std::string> LocalGpus();
// CPUs that this process may run on.
std::vector<int> LocalCpus();

// Keeps the server's own workers running: `normlab worker --local`, each in a process of its own
// with its words in logs/local-N.log. One that ends is started again after a pause that doubles up
// to a minute while it keeps ending early.
//
// A server that was killed leaves its workers alive. The next one just starts its own: a worker
// that finds its name taken by a living older one waits behind it, and takes over when that ends.
class LocalWorkers {
 public:
  LocalWorkers(LocalWorkersOptions options, const DataFolder& data, Clock& clock);
  // Stop, and wait until all have ended.
  ~LocalWorkers();
  LocalWorkers(const LocalWorkers&) = delete;
  LocalWorkers& operator=(const LocalWorkers&) = delete;

  // SIGTERM to every worker: trainers checkpoint, logs are handed over, then they end. Called
  // again, it passes the signal on once more, which makes workers give up on that.
  void Stop();

  // All have ended; only after Stop.
  bool Ended();

 private:
  void Supervise(int index);
  // True when it is time to end instead.
  bool Pause(absl::Duration period);

  const LocalWorkersOptions options_;
  const DataFolder data_;
  Clock& clock_;
  Mutex mu_;
  CondVar stop_cond_;
  bool stopping_ GUARDED_BY(mu_) = false;
  int supervised_ GUARDED_BY(mu_) = 0;
  std::vector<std::shared_ptr<Subprocess>> running_ GUARDED_BY(mu_);  // null: between two
  std::vector<std::thread> threads_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_LOCAL_WORKERS_H_
