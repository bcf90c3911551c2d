#include "worker/dataset_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/dataset_prepare.h"
#include "server/rpc/dataset_stream.h"
#include "tests/builders/temp_dir.h"
#include "tests/fakes/sim_transport.h"

namespace normlab::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// A real data set on the server's side; what is fetched passes through the server's real stream.
class DatasetCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += "in the beginning " + std::to_string(i) + "\n";
    CHECK_OK(WriteFileDurably(dir_.File("text.txt"), text));
    PrepareOptions options;
    options.name = "kjv";
    options.datasets_dir = dir_.File("server");
    options.files = {dir_.File("text.txt")};
    const auto meta = PrepareDataset(options);
    CHECK_OK(meta.status());
    sha256_ = meta->sha256;
    transport_.on_fetch = [this](const std::string& sha256) { return Fetch(sha256); };
  }

  absl::StatusOr<SimTransport::Chunks> Fetch(const std::string& sha256) {
    ++fetches_;
    SimTransport::Chunks chunks;
    const absl::Status status = server::StreamDataset(dir_.File("server"), sha256,
                                                      [&chunks](const v1::DatasetChunk& chunk) {
                                                        chunks.push_back(chunk);
                                                        return true;
                                                      });
    if (!status.ok()) return status;
    if (tamper_) tamper_(chunks);
    return chunks;
  }

  absl::StatusOr<std::string> Find(const std::string& server_dir = "") {
    return cache_.Find("kjv", sha256_, server_dir);
  }

  TempDir dir_;
  SimTransport transport_;
  DatasetCache cache_{dir_.File("own"), transport_};
  std::string sha256_;
  int fetches_ = 0;
  std::function<void(SimTransport::Chunks&)> tamper_;
};

TEST_F(DatasetCacheTest, FetchesOnceAndChecks) {
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(CheckDataset(*found).ok());
  EXPECT_EQ(*ReadFile(JoinPath(*found, "train.bin")), *ReadFile(dir_.File("server/kjv/train.bin")));
  EXPECT_EQ(*Find(), *found);
  EXPECT_EQ(fetches_, 1);
}

TEST_F(DatasetCacheTest, SharedFolderNeedsNoFetch) {
  EXPECT_EQ(*Find(dir_.File("server")), dir_.File("server/kjv"));
  EXPECT_EQ(fetches_, 0);
}

TEST_F(DatasetCacheTest, SameNameOtherDataIsNotTaken) {
  const std::string gone(64, '0');
  EXPECT_EQ(cache_.Find("kjv", gone, "").status().code(), absl::StatusCode::kNotFound);
  const auto changed = cache_.Find("kjv", gone, dir_.File("server")).status();
  EXPECT_EQ(changed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(changed.message(), "data set kjv has changed: it is " + sha256_.substr(0, 12) +
                                   "…, and this run was submitted for 000000000000…");
  DatasetCache in_servers_folder(dir_.File("server"), transport_);
  EXPECT_EQ(in_servers_folder.Find("kjv", gone, "").status(), changed);
}

struct Tampering {
  const char* name;
  std::function<void(SimTransport::Chunks&)> tamper;
  const char* message;
};

TEST_F(DatasetCacheTest, WhatIsNotTheDataIsRefusedAndLeavesNothing) {
  const std::vector<Tampering> cases = {
      {"flipped bit", [](auto& chunks) { (*chunks.back().mutable_data())[5000] ^= 1; }, "SHA-256"},
      {"missing file", [](auto& chunks) { chunks.pop_back(); }, "val.bin"},
      {"hole", [](auto& chunks) { chunks.back().set_offset(7); }, "after byte 0"},
      {"path", [](auto& chunks) { chunks.front().set_file("../evil"); }, "file name"},
      {"hidden file", [](auto& chunks) { chunks.front().set_file(".bashrc"); }, "file name"},
  };
  for (const Tampering& each : cases) {
    tamper_ = each.tamper;
    const auto found = Find();
    EXPECT_THAT(found.status().ToString(), HasSubstr(each.message)) << each.name;
    EXPECT_FALSE(FileExists(dir_.File("evil")));
    EXPECT_THAT(*ListDir(dir_.File("own")), UnorderedElementsAre()) << each.name;
  }
  tamper_ = nullptr;
  EXPECT_TRUE(Find().ok());
}

TEST_F(DatasetCacheTest, LostConnectionIsRetryable) {
  transport_.Script({Fault::kDropReply});
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Find().ok());
}

}  // namespace
}  // namespace normlab::worker
