#include "core/data_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "core/connect_file.h"
#include "core/file.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

GetEnv Env(const std::map<std::string, std::string>& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
}

TEST(DataFolder, IsFoundInTheDocumentedOrder) {
  const std::map<std::string, std::string> all = {
      {"NORMLAB_DATA", "/n"}, {"XDG_DATA_HOME", "/x"}, {"HOME", "/h"}};
  EXPECT_EQ(*DataFolderPath("/given", Env(all)), "/given");
  EXPECT_EQ(*DataFolderPath("", Env(all)), "/n");
  EXPECT_EQ(*DataFolderPath("", Env({{"XDG_DATA_HOME", "/x"}, {"HOME", "/h"}})), "/x/normlab");
  EXPECT_EQ(*DataFolderPath("", Env({{"HOME", "/h"}})), "/h/.local/share/normlab");
  EXPECT_EQ(DataFolderPath("", Env({})).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(DataFolder, NamesItsParts) {
  const DataFolder folder("/d");
  EXPECT_EQ(folder.Database(), "/d/normlab.db");
  EXPECT_EQ(folder.Dataset("kjv"), "/d/datasets/kjv");
  EXPECT_EQ(folder.AttemptCheckpoints(RunId(3), AttemptNumber(2)), "/d/checkpoints/r3/2");
  EXPECT_EQ(folder.AttemptLogDir(RunId(3), AttemptNumber(2), LeaseToken(255)),
            "/d/attempts/r3-2-00000000000000ff");
  EXPECT_EQ(folder.ConnectFile(), "/d/connect.json");
}

TEST(DataFolder, StoreIdIsMadeOnceAndStays) {
  const TempDir dir;
  const DataFolder folder(dir.File("data"));
  const auto id = StoreId(folder, *SeededRandom(1));
  ASSERT_THAT(id, IsOk());
  EXPECT_EQ(id->size(), 16u);
  EXPECT_EQ(*StoreId(folder, *SeededRandom(2)), *id);
}

ConnectInfo Info() {
  return {"f00d", "127.0.0.1:7420", "http://127.0.0.1:7421", "secret", "", 4711};
}

TEST(ConnectFile, ReadsBackAndIsForTheOwnerOnly) {
  const TempDir dir;
  ASSERT_THAT(WriteConnectFile(dir.File("connect.json"), Info()), IsOk());
  EXPECT_EQ(*ReadConnectFile(dir.File("connect.json")), Info());
  struct stat status = {};
  ASSERT_EQ(stat(dir.File("connect.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(ConnectFile, IsFoundInTheDocumentedOrder) {
  const std::map<std::string, std::string> all = {
      {"NORMLAB_CONNECT", "/c.json"}, {"NORMLAB_DATA", "/n"}, {"HOME", "/h"}};
  EXPECT_EQ(*ConnectFilePath({"/given.json", "/d"}, Env(all)), "/given.json");
  EXPECT_EQ(*ConnectFilePath({"", "/d"}, Env(all)), "/c.json");
  EXPECT_EQ(*ConnectFilePath({"", "/d"}, Env({{"NORMLAB_DATA", "/n"}})), "/d/connect.json");
  EXPECT_EQ(*ConnectFilePath({}, Env({{"NORMLAB_DATA", "/n"}})), "/n/connect.json");
  EXPECT_EQ(*ConnectFilePath({}, Env({{"HOME", "/h"}})), "/h/.local/share/normlab/connect.json");
}

TEST(ConnectFile, ErrorsNameTheFileAndTheCure) {
  const TempDir dir;
  EXPECT_THAT(FindConnect({"", dir.path()}, Env({})),
              IsStatus(absl::StatusCode::kNotFound,
                       "no server is known: there is no " + dir.File("connect.json") +
                           " (start one with `normlab serve`, or name its file with --connect)"));
  ASSERT_THAT(WriteFileDurably(dir.File("connect.json"), "{\"instance\": 3}"), IsOk());
  EXPECT_THAT(FindConnect({"", dir.path()}, Env({})),
              IsStatus(absl::StatusCode::kInvalidArgument,
                       dir.File("connect.json") + ": 'instance' should be text, not 3"));
}

}  // namespace
}  // namespace normlab
