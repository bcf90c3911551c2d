#ifndef NORMLAB_SERVER_SCHEDULER_RESOURCES_H_
#define NORMLAB_SERVER_SCHEDULER_RESOURCES_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace normlab::server {

// What one run asks for while it runs.
struct Demand {
  int64_t gpus = 0;
  int64_t cpus = 1;
  int64_t memory_bytes = 0;  // 0: not asked for
  friend auto operator<=>(const Demand&, const Demand&) = default;
};

struct GpuDevice {
  std::string id;
  std::string name;
  int64_t memory_bytes = 0;
  friend bool operator==(const GpuDevice&, const GpuDevice&) = default;
};

// What a worker has in all.
struct WorkerResources {
  std::string host;
  int slots = 0;  // trainers at a time
  int64_t cpus = 0;
  int64_t memory_bytes = 0;
  std::vector<GpuDevice> gpus;
  friend bool operator==(const WorkerResources&, const WorkerResources&) = default;
};

// The versions that a worker says hello with.
struct WorkerVersions {
  int protocol = 0;
  std::string build;
  std::string trainer_build;
  int trainer_math = 0;
  std::string torch;
  std::string isa;
  std::string trainer_error;  // why its trainer cannot run; empty: it can
  friend bool operator==(const WorkerVersions&, const WorkerVersions&) = default;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_RESOURCES_H_
