#include "worker/device_probe.h"

#include <sched.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "worker/trainer_hello.h"

namespace normlab::worker {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

void NameGpus(v1::Resources& resources) {
  const auto listing = OutputOf(
      {"nvidia-smi", "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits"});
  if (!listing.ok()) return;
  for (const std::string& line : Lines(*listing)) {
    v1::Gpu described;
    std::string index;
    std::string uuid;
    if (!ParseNvidiaSmiLine(line, index, uuid, described)) continue;
    for (v1::Gpu& gpu : *resources.mutable_gpus()) {
      if (gpu.id() != index && gpu.id() != uuid) continue;
      gpu.set_name(described.name());
      gpu.set_memory_bytes(described.memory_bytes());
    }
  }
}

}  // namespace

std::vector<int> UsableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

bool ParseNvidiaSmiLine(const std::string& line, std::string& index, std::string& uuid,
                        v1::Gpu& gpu) {
  const std::vector<std::string> fields = absl::StrSplit(line, ", ");
  int64_t mebibytes = 0;
  if (fields.size() != 4 || !absl::SimpleAtoi(fields[3], &mebibytes)) return false;
  index = fields[0];
  uuid = fields[1];
  gpu.set_name(fields[2]);
  gpu.set_memory_bytes(mebibytes * kMebibyte);
  return true;
}

v1::Resources ProbeResources(int slots, const std::vector<std::string>& gpu_ids) {
  v1::Resources resources;
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  resources.set_host(host);
  resources.set_cpus(static_cast<int>(UsableCpus().size()));
  resources.set_memory_bytes(int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE));
  resources.set_slots(slots);
  for (const std::string& id : gpu_ids) resources.add_gpus()->set_id(id);
  if (!gpu_ids.empty()) NameGpus(resources);
  return resources;
}

}  // namespace normlab::worker
