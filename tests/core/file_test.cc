#include "core/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

using ::testing::ElementsAre;

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

TEST(File, DurableWriteReplacesAndLeavesNothingBeside) {
  const TempDir dir;
  ASSERT_THAT(WriteFileDurably(dir.File("f"), "one"), IsOk());
  ASSERT_THAT(WriteFileDurably(dir.File("f"), std::string("two\0x", 5), 0600), IsOk());
  EXPECT_EQ(*ReadFile(dir.File("f")), std::string("two\0x", 5));
  EXPECT_EQ(ModeOf(dir.File("f")), 0600u);
  EXPECT_THAT(*ListDir(dir.path()), ElementsAre("f"));
}

TEST(File, DurableWriteThatFailsSaysWhereAndKeepsTheOld) {
  const TempDir dir;
  EXPECT_THAT(WriteFileDurably(dir.File("none/f"), "x"),
              IsStatusWith(absl::StatusCode::kNotFound, "No such file or directory"));
  ASSERT_THAT(MakeDirs(dir.File("d")), IsOk());
  ASSERT_THAT(WriteFileDurably(dir.File("d/f"), "x"), IsOk());
  EXPECT_FALSE(WriteFileDurably(dir.File("d"), "x").ok());  // a folder cannot be replaced
  EXPECT_THAT(*ListDir(dir.path()), ElementsAre("d"));
}

TEST(File, MakeDirsIsIdempotentAndRefusesFilesInTheWay) {
  const TempDir dir;
  EXPECT_THAT(MakeDirs(dir.File("a/b/c")), IsOk());
  EXPECT_THAT(MakeDirs(dir.File("a/b/c")), IsOk());
  EXPECT_TRUE(IsDir(dir.File("a/b/c")));
  ASSERT_THAT(WriteFileDurably(dir.File("file"), ""), IsOk());
  EXPECT_THAT(MakeDirs(dir.File("file/x")),
              IsStatusWith(absl::StatusCode::kFailedPrecondition, "Not a directory"));
}

TEST(File, ReadAtGivesLessOnlyAtTheEnd) {
  const TempDir dir;
  ASSERT_THAT(WriteFileDurably(dir.File("f"), "0123456789"), IsOk());
  const auto fd = OpenFd(dir.File("f"), O_RDONLY);
  ASSERT_THAT(fd, IsOk());
  EXPECT_EQ(*ReadAt(fd->get(), 2, 3), "234");
  EXPECT_EQ(*ReadAt(fd->get(), 8, 5), "89");
  EXPECT_EQ(*ReadAt(fd->get(), 20, 5), "");
  EXPECT_EQ(*FileSize(dir.File("f")), 10u);
}

TEST(File, RemoveAllTakesTreesAndNothing) {
  const TempDir dir;
  ASSERT_THAT(MakeDirs(dir.File("a/b")), IsOk());
  EXPECT_THAT(RemoveAll(dir.File("a")), IsOk());
  EXPECT_FALSE(FileExists(dir.File("a")));
  EXPECT_THAT(RemoveAll(dir.File("a")), IsOk());
}

TEST(File, JoinPath) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
}

}  // namespace
}  // namespace normlab
