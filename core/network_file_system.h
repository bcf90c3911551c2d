#ifndef NORMLAB_CORE_NETWORK_FILE_SYSTEM_H_
#define NORMLAB_CORE_NETWORK_FILE_SYSTEM_H_

#include <optional>
#include <string>
#include <string_view>

namespace normlab {

// Name of a file system by its number in statfs(2) when it is one of those that machines share
// ("NFS", "Lustre" …), on which SQLite's locks cannot be relied on.
std::optional<std::string_view> NetworkFileSystemOf(long type);

// The same for the file system of `dir`; empty also when it cannot be asked.
std::optional<std::string_view> NetworkFileSystemAt(const std::string& dir);

}  // namespace normlab

#endif  // NORMLAB_CORE_NETWORK_FILE_SYSTEM_H_
