#include "core/token_header.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/dataset.h"
#include "core/little_endian.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

constexpr int64_t kOpenWebText = 9'035'582'198;  // tokens, as nanoGPT prepares it

uint32_t Field(const std::string& header, size_t index) {
  return GetLittleEndian<uint32_t>(header.data() + 4 * index);
}

TEST(TokenHeader, IsLlmCsAsLongAsThatCanSayTheCount) {
  for (const int64_t tokens : {int64_t{0}, int64_t{7}, int64_t{2147483647}}) {
    const std::string header = TokenFileHeader(tokens);
    ASSERT_EQ(header.size(), 1024u);
    EXPECT_EQ(Field(header, 0), 20240520u);
    EXPECT_EQ(Field(header, 1), 1u);
    EXPECT_EQ(Field(header, 2), static_cast<uint32_t>(tokens));
    EXPECT_EQ(header.substr(12), std::string(1012, '\0'));
    EXPECT_EQ(*TokenCount(header, 1024 + 2 * tokens), tokens);
  }
}

TEST(TokenHeader, SaysLargerCountsAsVersionTwo) {
  for (const int64_t tokens : {int64_t{2147483648}, kOpenWebText}) {
    const std::string header = TokenFileHeader(tokens);
    EXPECT_EQ(Field(header, 1), 2u);
    EXPECT_EQ(*TokenCount(header, 1024 + 2 * tokens), tokens);
    EXPECT_THAT(TokenCount(header, 1024 + 2 * tokens - 2), IsStatusWith(kInvalid, "its header"));
  }
}

TEST(TokenHeader, NoCountOverflowsWhatItIsComparedWith) {
  std::string header = TokenFileHeader(kOpenWebText);
  for (size_t i = 8; i < 16; ++i) header[i] = '\x7f';
  EXPECT_THAT(TokenCount(header, 2000),
              IsStatusWith(kInvalid, "the 2000 bytes of the file hold 488"));
}

// The file has holes instead of tokens: nothing of its 18 GB is on the disk.
TEST(TokenHeader, AFileOfBillionsOpensAndReadsAtItsEnd) {
  const TempDir dir;
  const std::string path = dir.File("owt.bin");
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
  ASSERT_GE(fd, 0);
  const std::string header = TokenFileHeader(kOpenWebText);
  ASSERT_EQ(pwrite(fd, header.data(), header.size(), 0), 1024);
  ASSERT_EQ(ftruncate(fd, 1024 + 2 * kOpenWebText), 0);
  ASSERT_EQ(pwrite(fd, "\x39\x30", 2, 1024 + 2 * (kOpenWebText - 1)), 2);
  close(fd);
  const auto file = TokenFile::Open(path);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->tokens(), kOpenWebText);
  EXPECT_THAT(*file->Read(kOpenWebText - 2, 2), testing::ElementsAre(0, 12345));
}

}  // namespace
}  // namespace normlab
