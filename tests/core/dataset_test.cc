#include "core/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/dataset_prepare.h"
#include "core/sha256.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

using ::testing::ElementsAre;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

// 400 bytes of text as data set "toy": 380 tokens to train on, 20 to validate.
DatasetMeta Prepare(const TempDir& dir) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += static_cast<char>('a' + i % 26);
  EXPECT_THAT(WriteFileDurably(dir.File("toy.txt"), text), IsOk());
  PrepareOptions options;
  options.name = "toy";
  options.datasets_dir = dir.path();
  options.files = {dir.File("toy.txt")};
  const auto meta = PrepareDataset(options);
  EXPECT_THAT(meta, IsOk());
  return *meta;
}

// Replaces the byte at `at`.
void Poke(const std::string& path, size_t at, char byte) {
  std::string bytes = *ReadFile(path);
  bytes.at(at) = byte;
  ASSERT_THAT(WriteFileDurably(path, bytes), IsOk());
}

TEST(Dataset, MetaReadsBack) {
  const TempDir dir;
  const DatasetMeta meta = Prepare(dir);
  EXPECT_EQ(*ReadDatasetMeta(dir.File("toy")), meta);
  EXPECT_THAT(ReadDatasetMeta(dir.File("none")),
              IsStatusWith(absl::StatusCode::kNotFound, "`normlab data prepare`"));
}

TEST(Dataset, IdentityIsThatOfBothFiles) {
  const TempDir dir;
  const DatasetMeta meta = Prepare(dir);
  EXPECT_EQ(meta.train_sha256, *Sha256File(dir.File("toy/train.bin")));
  EXPECT_EQ(meta.val_sha256, *Sha256File(dir.File("toy/val.bin")));
  EXPECT_EQ(meta.sha256, Sha256Hex("normlab.dataset.v1\ntrain " + meta.train_sha256 + "\nval " +
                                   meta.val_sha256 + "\n"));
}

TEST(TokenFile, ReadsAnywhere) {
  const TempDir dir;
  Prepare(dir);
  const auto file = TokenFile::Open(dir.File("toy/train.bin"));
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->tokens(), 380);
  EXPECT_THAT(*file->Read(25, 3), ElementsAre('z', 'a', 'b'));
  EXPECT_THAT(*file->Read(379, 1), ElementsAre('a' + 379 % 26));
  EXPECT_EQ(file->Read(379, 2).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(file->Read(-1, 1).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(TokenFile, RefusesHeadersThatLie) {
  const TempDir dir;
  Prepare(dir);
  const std::string path = dir.File("toy/train.bin");
  const std::string good = *ReadFile(path);
  const auto open = [&](const std::string& bytes) {
    EXPECT_THAT(WriteFileDurably(path, bytes), IsOk());
    return TokenFile::Open(path).status();
  };
  EXPECT_THAT(open(good.substr(0, 100)),
              IsStatus(kDataLoss, "train.bin: too short for a token file's header (100 bytes)"));
  EXPECT_THAT(open(good.substr(0, good.size() - 1)),
              IsStatus(kDataLoss,
                       "train.bin: its header says 380 tokens, but the 1783 bytes of the file hold "
                       "379 and half a one"));
  EXPECT_THAT(open(good + "xx"), IsStatusWith(kDataLoss, "the 1786 bytes of the file hold 381"));
  EXPECT_THAT(open(std::string(2000, 'x')), IsStatusWith(kDataLoss, "train.bin: not a token file"));
  std::string version = good;
  version[4] = 3;
  EXPECT_THAT(open(version), IsStatusWith(kDataLoss, "of version 3; should be 1"));
  std::string negative = good;
  negative[11] = '\x80';
  EXPECT_THAT(open(negative), IsStatusWith(kDataLoss, "says -2147483268 tokens"));
}

TEST(Dataset, IsCheckedBeforeTraining) {
  const TempDir dir;
  const DatasetMeta meta = Prepare(dir);
  const auto check = [&](const DatasetMeta& said, int64_t seq_len, int64_t model_vocab) {
    return CheckForTraining(dir.File("toy"), said, seq_len, model_vocab);
  };
  EXPECT_THAT(check(meta, 19, 256), IsOk());
  EXPECT_THAT(
      check(meta, 20, 256),
      IsStatus(absl::StatusCode::kInvalidArgument,
               "data set toy: val.bin has 20 tokens, too few for one sequence of 20 and its "
               "next token"));
  EXPECT_THAT(check(meta, 380, 256), IsStatusWith(absl::StatusCode::kInvalidArgument,
                                                  "train.bin has 380 tokens, too few"));
  EXPECT_THAT(check(meta, 19, 255),
              IsStatus(absl::StatusCode::kInvalidArgument,
                       "data set toy: its vocabulary of 256 is larger than model.vocab, 255"));
  DatasetMeta other = meta;
  other.train_tokens = 70;
  EXPECT_THAT(check(other, 8, 256),
              IsStatus(kDataLoss, "data set toy: train.bin has 380 tokens, but meta.json says 70"));
  other.vocab = 70000;
  EXPECT_THAT(check(other, 8, 70000),
              IsStatusWith(kDataLoss, "a vocabulary of 70000; should be from 1 to 65536"));
}

TEST(Dataset, CheckFindsAChangedTokenAndOneBeyondTheVocabulary) {
  const TempDir dir;
  Prepare(dir);
  const std::string set = dir.File("toy");
  EXPECT_THAT(CheckDataset(set), IsOk());
  Poke(set + "/train.bin", 1024 + 2 * 5, 'X');
  EXPECT_THAT(CheckDataset(set),
              IsStatusWith(kDataLoss, "train.bin: its content has changed since it was prepared"));
  Poke(set + "/train.bin", 1024 + 2 * 5 + 1, 1);
  EXPECT_THAT(CheckDataset(set),
              IsStatus(kDataLoss, set + ": train.bin: token 344 at position 5 is beyond the "
                                        "vocabulary of 256"));
}

}  // namespace
}  // namespace normlab
