#include "core/equal_secrets.h"

#include <string>

#include "gtest/gtest.h"

namespace normlab {
namespace {

// With a zero and bytes above 127.
constexpr std::string_view kSecret("to\0ken\xff\x80", 8);

TEST(EqualSecretsTest, EqualOnes) {
  EXPECT_TRUE(EqualSecrets("", ""));
  EXPECT_TRUE(EqualSecrets(kSecret, std::string(kSecret)));
}

TEST(EqualSecretsTest, OneBitAnywhereIsADifference) {
  for (size_t i = 0; i < kSecret.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other(kSecret);
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_FALSE(EqualSecrets(kSecret, other)) << i << " " << bit;
      EXPECT_FALSE(EqualSecrets(other, kSecret)) << i << " " << bit;
    }
  }
}

// Two differences must not cancel each other.
TEST(EqualSecretsTest, TwoDifferencesAreOneToo) { EXPECT_FALSE(EqualSecrets("abcd", "bacd")); }

TEST(EqualSecretsTest, PartsAreNotTheWhole) {
  for (size_t length = 0; length < kSecret.size(); ++length) {
    EXPECT_FALSE(EqualSecrets(kSecret, kSecret.substr(0, length))) << length;
    EXPECT_FALSE(EqualSecrets(kSecret.substr(0, length), kSecret)) << length;
  }
}

}  // namespace
}  // namespace normlab
