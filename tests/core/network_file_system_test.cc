#include "core/network_file_system.h"

#include <gtest/gtest.h>

#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

TEST(NetworkFileSystem, KnowsTheSharedOnes) {
  EXPECT_EQ(NetworkFileSystemOf(0x6969), "NFS");
  EXPECT_EQ(NetworkFileSystemOf(0x0BD00BD0), "Lustre");
  // statfs gives a signed number on some machines.
  EXPECT_EQ(NetworkFileSystemOf(static_cast<long>(static_cast<int32_t>(0xFF534D42))), "CIFS");
  EXPECT_EQ(NetworkFileSystemOf(0xEF53), std::nullopt);      // ext4
  EXPECT_EQ(NetworkFileSystemOf(0x01021994), std::nullopt);  // tmpfs
}

TEST(NetworkFileSystem, TheTestsOwnDiskIsLocal) {
  const TempDir dir;
  EXPECT_EQ(NetworkFileSystemAt(dir.path()), std::nullopt);
  EXPECT_EQ(NetworkFileSystemAt(dir.File("missing")), std::nullopt);
}

}  // namespace
}  // namespace normlab
