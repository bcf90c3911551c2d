#include "worker/device_probe.h"

#include <gtest/gtest.h>

namespace normlab::worker {
namespace {

TEST(DeviceProbeTest, ReadsALineOfNvidiaSmi) {
  std::string index;
  std::string uuid;
  v1::Gpu gpu;
  ASSERT_TRUE(ParseNvidiaSmiLine("1, GPU-8a7, NVIDIA H200, 143771", index, uuid, gpu));
  EXPECT_EQ(index, "1");
  EXPECT_EQ(uuid, "GPU-8a7");
  EXPECT_EQ(gpu.name(), "NVIDIA H200");
  EXPECT_EQ(gpu.memory_bytes(), int64_t{143771} << 20);
}

TEST(DeviceProbeTest, OtherLinesAreNone) {
  std::string index;
  std::string uuid;
  v1::Gpu gpu;
  for (const char* line : {"", "No devices were found", "0, GPU-1, NVIDIA T4, [N/A]", "a, b, c"}) {
    EXPECT_FALSE(ParseNvidiaSmiLine(line, index, uuid, gpu)) << line;
  }
}

TEST(DeviceProbeTest, SaysWhatThisMachineHas) {
  const v1::Resources resources = ProbeResources(3, {"7"});
  EXPECT_EQ(resources.slots(), 3);
  EXPECT_FALSE(resources.host().empty());
  EXPECT_EQ(resources.cpus(), static_cast<int>(UsableCpus().size()));
  EXPECT_GT(resources.cpus(), 0);
  EXPECT_GT(resources.memory_bytes(), int64_t{64} << 20);
  ASSERT_EQ(resources.gpus_size(), 1);
  EXPECT_EQ(resources.gpus(0).id(), "7");
}

}  // namespace
}  // namespace normlab::worker
