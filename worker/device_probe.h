#ifndef NORMLAB_WORKER_DEVICE_PROBE_H_
#define NORMLAB_WORKER_DEVICE_PROBE_H_

#include <string>
#include <vector>

#include "proto/control.pb.h"

namespace normlab::worker {

// CPUs that this process may run on (its affinity), ascending.
std::vector<int> UsableCpus();

// What this machine has for `slots` trainers on the GPUs named `gpu_ids` (as in
// CUDA_VISIBLE_DEVICES). Names and memory of the GPUs come from nvidia-smi and stay empty where it
// is missing.
v1::Resources ProbeResources(int slots, const std::vector<std::string>& gpu_ids);

// One line of `nvidia-smi --query-gpu=index,uuid,name,memory.total --format=csv,noheader,nounits`.
// False for a line of another form.
bool ParseNvidiaSmiLine(const std::string& line, std::string& index, std::string& uuid,
                        v1::Gpu& gpu);

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_DEVICE_PROBE_H_
