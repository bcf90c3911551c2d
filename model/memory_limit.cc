#include "model/memory_limit.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include "absl/strings/numbers.h"
#include "core/file.h"

namespace normlab::model {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::string TextOf(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  return text.ok() ? *text : "";
}

// The number in that file; kNoLimit where there is none ("max", or no such file).
int64_t LimitIn(const std::string& path) {
  int64_t bytes = 0;
  return absl::SimpleAtoi(TextOf(path), &bytes) ? bytes : kNoLimit;
}

int64_t MachineMemory(const std::string& root) {
  std::istringstream words(TextOf(root + "/proc/meminfo"));
  int64_t kib = 0;
  for (std::string word; words >> word;) {
    if (word == "MemTotal:" && words >> kib) return kib * 1024;
  }
  return kNoLimit;
}

// A group's limit binds the groups inside it, so that every level up to the root counts.
int64_t LimitAlong(const std::string& mount, std::string group, const char* file) {
  int64_t limit = kNoLimit;
  while (true) {
    limit = std::min(limit, LimitIn(mount + group + "/" + file));
    const size_t slash = group.find_last_of('/');
    if (slash == std::string::npos) return limit;
    group.resize(slash);
  }
}

}  // namespace

int64_t MemoryLimitBytes(const std::string& root) {
  int64_t limit = MachineMemory(root);
  const std::string mount = root + "/sys/fs/cgroup";
  // Lines "ID:CONTROLLERS:PATH"; version 2 has the ID 0 and no controllers.
  std::istringstream lines(TextOf(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      limit = std::min(limit, LimitAlong(mount, group, "memory.max"));
    } else if (controllers == "memory") {
      limit = std::min(limit, LimitAlong(mount + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace normlab::model
