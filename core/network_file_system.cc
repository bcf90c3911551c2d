#include "core/network_file_system.h"

#include <sys/vfs.h>

#include <cstdint>

namespace normlab {
namespace {

struct KnownType {
  uint32_t number;
  std::string_view name;
};

// linux/magic.h has only some of them.
constexpr KnownType kNetworkTypes[] = {
    {0x6969, "NFS"},        {0x517B, "SMB"},      {0xFF534D42, "CIFS"},   {0xFE534D42, "SMB2"},
    {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"}, {0x00C36400, "Ceph"},
    {0x5346414F, "AFS"},    {0x01021997, "9p"},   {0x7461636F, "OCFS2"},  {0x01161970, "GFS2"},
    {0xAAD7AAEA, "PanFS"},
};

}  // namespace

std::optional<std::string_view> NetworkFileSystemOf(long type) {
  for (const KnownType& known : kNetworkTypes) {
    if (static_cast<uint32_t>(type) == known.number) return known.name;
  }
  return std::nullopt;
}

std::optional<std::string_view> NetworkFileSystemAt(const std::string& dir) {
  struct statfs facts;
  if (statfs(dir.c_str(), &facts) != 0) return std::nullopt;
  return NetworkFileSystemOf(static_cast<long>(facts.f_type));
}

}  // namespace normlab
