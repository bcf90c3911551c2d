#include "core/loopback.h"

#include "gtest/gtest.h"

namespace normlab {
namespace {

TEST(LoopbackTest, HostsThatCanOnlyBeThisMachine) {
  for (const char* host : {"localhost", "LocalHost", "127.0.0.1", "127.255.3.4", "[::1]"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host : {"", "0.0.0.0", "[::]", "10.0.0.5", "128.0.0.1", "127.1", "127.0.0.1.",
                           "127.evil.com", "127.0.0.1.evil.com", "localhost.evil", "localhost.",
                           "[::1", "::1", "[::2]", "[::ffff:10.0.0.5]", "127.0.0.1:80"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

TEST(LoopbackTest, AddressesHaveAPort) {
  for (const char* address : {"127.0.0.1:7420", "127.8.0.1:0", "localhost:1", "[::1]:7420"}) {
    EXPECT_TRUE(IsLoopbackAddress(address)) << address;
  }
  for (const char* address : {"0.0.0.0:7420", "[::]:7420", "10.0.0.5:1", "localhost.evil:1",
                              "127.evil.com:1", "127.0.0.1:80:81", ":7420", "::1:80"}) {
    EXPECT_FALSE(IsLoopbackAddress(address)) << address;
  }
}

}  // namespace
}  // namespace normlab
