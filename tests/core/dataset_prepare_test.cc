#include "core/dataset_prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/little_endian.h"
#include "core/random.h"
#include "core/sha256.h"
#include "core/status.h"
#include "core/text_encoder.h"
#include "core/token_header.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PrepareTest : public testing::Test {
 protected:
  // A file beside the data sets; its path.
  std::string Put(const std::string& name, const std::string& bytes) {
    EXPECT_THAT(WriteFileDurably(dir_.File(name), bytes), IsOk());
    return dir_.File(name);
  }

  absl::StatusOr<DatasetMeta> Prepare(std::vector<std::string> files,
                                      std::vector<std::string> val = {}, int64_t vocab = 0) {
    PrepareOptions options;
    options.name = "set";
    options.datasets_dir = Sets();
    options.files = std::move(files);
    options.val_files = std::move(val);
    options.vocab = vocab;
    return PrepareDataset(options);
  }

  std::string Sets() const { return dir_.File("datasets"); }

  std::vector<uint16_t> Tokens(const char* split) {
    const auto file = TokenFile::Open(Sets() + "/set/" + split);
    EXPECT_THAT(file, IsOk());
    return *file->Read(0, file->tokens());
  }

  TempDir dir_;
};

std::string Bare(const std::vector<uint16_t>& tokens) {
  std::string bytes;
  for (uint16_t token : tokens) PutLittleEndian(bytes, token);
  return bytes;
}

std::string WithHeader(const std::vector<uint16_t>& tokens) {
  return TokenFileHeader(static_cast<int64_t>(tokens.size())) + Bare(tokens);
}

std::vector<uint16_t> Ascending(uint16_t count) {
  std::vector<uint16_t> tokens;
  for (uint16_t i = 0; i < count; ++i) tokens.push_back(i);
  return tokens;
}

TEST_F(PrepareTest, TextIsBytesAndTheLastTwentiethValidates) {
  const auto meta =
      Prepare({Put("a.txt", std::string(30, 'a')), Put("b.txt", std::string(15, '\xff'))});
  ASSERT_THAT(meta, IsOk());
  EXPECT_EQ(meta->vocab, 256);
  EXPECT_EQ(meta->tokenizer, "bytes");
  EXPECT_EQ(meta->train_tokens, 43);
  EXPECT_EQ(meta->val_tokens, 2);
  EXPECT_EQ(Tokens("train.bin").front(), 'a');
  EXPECT_EQ(Tokens("train.bin").back(), 255);
  EXPECT_THAT(Tokens("val.bin"), ElementsAre(255, 255));
  EXPECT_EQ(meta->unigram_entropy, 0);
  EXPECT_THAT(CheckDataset(Sets() + "/set"), IsOk());
  EXPECT_THAT(*ListDir(Sets()), ElementsAre("set"));
  EXPECT_THAT(*ListDir(Sets() + "/set"),
              ElementsAre("meta.json", "tokenizer.json", "train.bin", "val.bin"));
}

TEST_F(PrepareTest, NanoGptAndLlmCFilesAreToldApartByTheMagic) {
  const auto meta =
      Prepare({Put("a.bin", Bare(Ascending(30))), Put("b.bin", WithHeader(Ascending(10)))},
              {Put("v.bin", WithHeader({1, 1, 2, 2}))});
  ASSERT_THAT(meta, IsOk());
  EXPECT_EQ(meta->vocab, 30);
  EXPECT_EQ(meta->tokenizer, "unknown");
  EXPECT_EQ(meta->train_tokens, 40);
  EXPECT_EQ(Tokens("train.bin")[30], 0);
  EXPECT_THAT(Tokens("val.bin"), ElementsAre(1, 1, 2, 2));
  EXPECT_NEAR(meta->unigram_entropy, std::log(2.0), 1e-15);
}

TEST_F(PrepareTest, AGivenVocabularyIsKept) {
  const auto meta = Prepare({Put("a.bin", Bare(Ascending(40)))}, {}, 50257);
  ASSERT_THAT(meta, IsOk());
  EXPECT_EQ(meta->vocab, 50257);
}

TEST_F(PrepareTest, StreamsMoreThanOneChunk) {
  const auto random = SeededRandom(3);
  std::string text;
  for (int i = 0; i < 300000; ++i) PutLittleEndian(text, random->Next());
  int calls = 0;
  PrepareProgress last;
  PrepareOptions options;
  options.name = "set";
  options.datasets_dir = Sets();
  options.files = {Put("a.txt", text)};
  options.progress = [&](const PrepareProgress& progress) {
    EXPECT_GT(progress.bytes_done, last.bytes_done);
    last = progress;
    ++calls;
  };
  ASSERT_THAT(PrepareDataset(options), IsOk());
  EXPECT_GE(calls, 3);
  EXPECT_EQ(last.bytes_done, 2400000);
  EXPECT_EQ(last.bytes_total, 2400000);
  std::string back;
  for (const char* split : {"train.bin", "val.bin"}) {
    for (uint16_t token : Tokens(split)) back += static_cast<char>(token);
  }
  EXPECT_TRUE(back == text);
}

TEST_F(PrepareTest, BadFilesAreOneClearLineAndLeaveNothing) {
  const std::string path = dir_.File("f.bin");
  const auto prepare = [&](const std::string& bytes, int64_t vocab = 0) {
    return Prepare({Put("f.bin", bytes)}, {}, vocab).status();
  };
  const std::string good = WithHeader(Ascending(40));
  EXPECT_THAT(prepare(""), IsStatus(kInvalid, path + ": the file is empty"));
  EXPECT_THAT(prepare("abc"), IsStatus(kInvalid, path + ": 3 bytes are no whole number of 16-bit "
                                                        "tokens; is the file cut short?"));
  EXPECT_THAT(
      prepare(good.substr(0, 1050)),
      IsStatus(kInvalid, path + ": its header says 40 tokens, but the 1050 bytes of the file hold "
                                "13"));
  EXPECT_THAT(prepare(good + "xx"), IsStatusWith(kInvalid, "the 1106 bytes of the file hold 41"));
  EXPECT_THAT(prepare(good.substr(0, 100)),
              IsStatus(kInvalid, path + ": too short for a token file's header (100 bytes)"));
  EXPECT_THAT(prepare(WithHeader({})),
              IsStatus(kInvalid, path + ": its header says that it has no tokens"));
  std::string version = good;
  version[4] = 7;
  EXPECT_THAT(prepare(version), IsStatusWith(kInvalid, ": a token file of version 7; should be 1"));
  EXPECT_THAT(prepare(good, 39),
              IsStatus(kInvalid, path + ": token 39 at position 39 is beyond the "
                                        "vocabulary of 39"));
  EXPECT_THAT(
      prepare(Bare(Ascending(19))),
      IsStatus(kInvalid, path + ": 19 tokens are too few to keep 5 % of them for validation"));
  EXPECT_THAT(prepare(Bare(Ascending(39))),
              IsStatus(kInvalid, "tokens for validation: 1; should be at least 2"));
  EXPECT_TRUE(!FileExists(Sets()) || ListDir(Sets())->empty());
}

TEST_F(PrepareTest, RefusesMixturesMissingFilesAndBadNames) {
  const std::string text = Put("a.txt", std::string(100, 'a'));
  const std::string tokens = Put("b.bin", Bare(Ascending(40)));
  EXPECT_THAT(Prepare({text, tokens}),
              IsStatus(kInvalid, text + " and " + tokens +
                                     ": text and token files (.bin) cannot be one data set"));
  EXPECT_THAT(Prepare({text}, {tokens}), IsStatusWith(kInvalid, "cannot be one data set"));
  EXPECT_THAT(
      Prepare({dir_.File("none.txt")}),
      IsStatus(absl::StatusCode::kNotFound, dir_.File("none.txt") + ": No such file or directory"));
  EXPECT_THAT(Prepare({dir_.path()}), IsStatus(kInvalid, dir_.path() + ": not a regular file"));
  EXPECT_THAT(Prepare({}), IsStatus(kInvalid, "no file to make a data set from"));
  EXPECT_THAT(Prepare({text}, {}, 300),
              IsStatus(kInvalid, "text is taken as bytes, whose vocabulary is 256, not 300"));
  PrepareOptions options;
  options.datasets_dir = Sets();
  options.files = {text};
  for (const char* name : {"", ".hidden", "a/b", "a b", ".."}) {
    options.name = name;
    EXPECT_THAT(PrepareDataset(options), IsStatusWith(kInvalid, "cannot name a data set")) << name;
  }
}

// A process that was killed leaves a folder behind, which the next one of that name removes; that
// of a living process stays.
TEST_F(PrepareTest, LeftoversOfTheDeadGo) {
  // Larger than any pid: nobody has it.
  CHECK_OK(MakeDirs(Sets() + "/.set.tmp99999999/deep"));
  CHECK_OK(MakeDirs(Sets() + "/.set.tmp1"));
  CHECK_OK(MakeDirs(Sets() + "/.other.tmp99999999"));
  ASSERT_THAT(Prepare({Put("a.txt", std::string(100, 'a'))}), IsOk());
  EXPECT_THAT(*ListDir(Sets()), ElementsAre(".other.tmp99999999", ".set.tmp1", "set"));
}

// Pairs of bytes: as many tokens as nobody knows beforehand (a line's odd last byte is one too).
class PairEncoder : public TextEncoder {
 public:
  absl::Status Prepare(const std::vector<TextSpan>& training) override {
    learned_from = training;
    return absl::OkStatus();
  }
  int64_t vocab() const override { return 1000; }
  absl::Status Encode(const std::vector<TextSpan>& spans, const Take& take) override {
    for (const TextSpan& span : spans) {
      const std::string text = ReadFile(span.path)->substr(span.first, span.bytes());
      std::vector<uint16_t> tokens;
      for (size_t i = 0; i < text.size(); i += 2) tokens.push_back(static_cast<uint8_t>(text[i]));
      RETURN_IF_ERROR(take(tokens, span.bytes()));
    }
    return failure;
  }
  absl::StatusOr<nlohmann::json> Keep(const std::string& dir) const override {
    RETURN_IF_ERROR(WriteFileDurably(dir + "/tokenizer.model", "pairs"));
    return nlohmann::json{{"model_sha256", Sha256Hex("pairs")}};
  }

  std::vector<TextSpan> learned_from;
  absl::Status failure;
};

class EncodedPrepareTest : public PrepareTest {
 protected:
  absl::StatusOr<DatasetMeta> Encoded(std::vector<std::string> files,
                                      std::vector<std::string> val = {}) {
    PrepareOptions options;
    options.name = "set";
    options.datasets_dir = Sets();
    options.files = std::move(files);
    options.val_files = std::move(val);
    options.encoder = &encoder_;
    return PrepareDataset(options);
  }
  PairEncoder encoder_;
};

TEST_F(EncodedPrepareTest, CountsWhatTheEncoderMakes) {
  const std::string text = Put("a.txt", std::string(38, 'a') + "\n");
  const auto meta = Encoded({text}, {Put("v.txt", "vwxyz")});
  ASSERT_THAT(meta, IsOk());
  EXPECT_EQ(meta->train_tokens, 20);
  EXPECT_EQ(meta->val_tokens, 3);
  EXPECT_EQ(meta->vocab, 1000);
  EXPECT_EQ(meta->tokenizer, "sentencepiece");
  EXPECT_THAT(Tokens("val.bin"), ElementsAre('v', 'x', 'z'));
  EXPECT_THAT(encoder_.learned_from, ElementsAre(TextSpan{text, 0, 39}));
  EXPECT_THAT(CheckDataset(Sets() + "/set"), IsOk());
}

TEST_F(EncodedPrepareTest, ADamagedTokenizerIsFound) {
  ASSERT_THAT(Encoded({Put("a.txt", std::string(80, 'a'))}), IsOk());
  CHECK_OK(WriteFileDurably(Sets() + "/set/tokenizer.model", "pears"));
  EXPECT_THAT(
      CheckDataset(Sets() + "/set"),
      IsStatusWith(absl::StatusCode::kDataLoss, "tokenizer.model: its content has changed"));
}

TEST_F(EncodedPrepareTest, AnEncoderThatFailsLeavesNothing) {
  encoder_.failure = absl::InvalidArgumentError("no such piece");
  EXPECT_THAT(Encoded({Put("a.txt", std::string(40, 'a'))}), IsStatus(kInvalid, "no such piece"));
  EXPECT_THAT(*ListDir(Sets()), IsEmpty());
  EXPECT_THAT(Encoded({Put("t.bin", Bare(Ascending(40)))}),
              IsStatusWith(kInvalid, "token files need no tokenizer"));
}

TEST_F(PrepareTest, AnExistingSetIsReplacedOnlyWhenAskedFor) {
  const std::string first = Put("a.txt", std::string(100, 'a'));
  ASSERT_THAT(Prepare({first}), IsOk());
  EXPECT_THAT(Prepare({first}), IsStatus(absl::StatusCode::kAlreadyExists,
                                         "there is a data set called set (" + Sets() + "/set)"));
  PrepareOptions options;
  options.name = "set";
  options.datasets_dir = Sets();
  options.files = {Put("b.txt", std::string(200, 'b'))};
  options.replace = true;
  ASSERT_THAT(PrepareDataset(options), IsOk());
  EXPECT_EQ(Tokens("train.bin").size(), 190u);
  EXPECT_THAT(*ListDir(Sets()), ElementsAre("set"));
}

}  // namespace
}  // namespace normlab
