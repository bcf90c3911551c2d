#include "server/host_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace normlab::server {
namespace {

TEST(HostNames, TheHostOfAnAddress) {
  EXPECT_EQ(HostOf("box:7420"), "box");
  EXPECT_EQ(HostOf("[::1]:7420"), "::1");
  EXPECT_EQ(HostOf("0.0.0.0:0"), "0.0.0.0");
}

TEST(HostNames, OthersConnectToWhatIsListenedOn) {
  EXPECT_EQ(AdvertisedAddress("127.0.0.1:7420", ""), "127.0.0.1:7420");
  EXPECT_EQ(AdvertisedAddress("[fe80::1]:7420", ""), "[fe80::1]:7420");
  EXPECT_EQ(AdvertisedAddress("10.0.0.5:1", "box.example"), "box.example:1");
  EXPECT_EQ(AdvertisedAddress("0.0.0.0:1", "fe80::2"), "[fe80::2]:1");
}

TEST(HostNames, EveryAddressIsNoAddressToConnectTo) {
  for (const char* listen : {"0.0.0.0:7420", "[::]:7420"}) {
    const std::string address = AdvertisedAddress(listen, "");
    EXPECT_THAT(address, testing::EndsWith(":7420"));
    EXPECT_THAT(OwnNames(), testing::Contains(HostOf(address))) << address;
  }
}

TEST(HostNames, ThisMachineIsReachedAsLocalhost) {
  EXPECT_THAT(OwnNames(), testing::IsSupersetOf({"localhost", "127.0.0.1"}));
}

}  // namespace
}  // namespace normlab::server
