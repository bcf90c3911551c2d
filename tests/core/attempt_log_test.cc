#include "core/attempt_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/record.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<SeqRecord> ReadAll(const std::string& dir) {
  const auto reader = AttemptLogReader::Open(dir);
  EXPECT_THAT(reader, IsOk());
  auto records = (*reader)->ReadFrom(1, SIZE_MAX);
  EXPECT_THAT(records, IsOk());
  return *records;
}

void Write(const std::string& dir, const std::vector<std::string>& records) {
  const auto writer = AttemptLogWriter::Open(dir);
  ASSERT_THAT(writer, IsOk());
  for (const std::string& record : records) ASSERT_THAT((*writer)->Append(record), IsOk());
  ASSERT_THAT((*writer)->Sync(), IsOk());
}

TEST(AttemptLog, NumbersRecordsFromOneWithoutAGap) {
  const TempDir dir;
  const auto writer = AttemptLogWriter::Open(dir.File("r1-1-ff"));
  ASSERT_THAT(writer, IsOk());
  EXPECT_EQ((*writer)->last_seq(), 0u);
  EXPECT_EQ(*(*writer)->Append("a"), 1u);
  EXPECT_EQ(*(*writer)->Append(""), 2u);
  EXPECT_EQ(*(*writer)->Append(std::string("c\0d", 3)), 3u);
  EXPECT_EQ((*writer)->last_seq(), 3u);
  EXPECT_THAT(ReadAll(dir.File("r1-1-ff")), ElementsAre(SeqRecord{1, "a"}, SeqRecord{2, ""},
                                                        SeqRecord{3, std::string("c\0d", 3)}));
}

TEST(AttemptLog, GoesOnAfterReopening) {
  const TempDir dir;
  Write(dir.path(), {"a", "b"});
  Write(dir.path(), {});
  Write(dir.path(), {"c"});
  EXPECT_THAT(ReadAll(dir.path()),
              ElementsAre(SeqRecord{1, "a"}, SeqRecord{2, "b"}, SeqRecord{3, "c"}));
  EXPECT_FALSE(FileExists(dir.File(kAttemptLogBadFile)));
}

// The machine dies at any byte: whole records stay, the torn one goes to log.bad, writing goes on.
TEST(AttemptLog, IsRepairedFromATearAtEveryByte) {
  const TempDir dir;
  Write(dir.File("whole"), {"first", "second record", ""});
  const std::string bytes = *ReadFile(dir.File("whole/log"));
  const std::vector<size_t> ends = {16, 37, 66, 82};  // header, and after each record
  ASSERT_EQ(bytes.size(), ends.back());
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::string torn = dir.File("torn" + std::to_string(size));
    ASSERT_THAT(MakeDirs(torn), IsOk());
    ASSERT_THAT(WriteFileDurably(torn + "/log", bytes.substr(0, size)), IsOk());
    const auto whole = static_cast<uint64_t>(std::upper_bound(ends.begin() + 1, ends.end(), size) -
                                             (ends.begin() + 1));
    const uint64_t tail = size < 16 ? 0 : size - ends[whole];
    const auto writer = AttemptLogWriter::Open(torn);
    ASSERT_THAT(writer, IsOk()) << size;
    EXPECT_EQ((*writer)->last_seq(), whole) << size;
    EXPECT_EQ((*writer)->repaired_bytes(), tail) << size;
    EXPECT_EQ(FileExists(torn + "/log.bad"), tail > 0) << size;
    if (tail > 0) {
      EXPECT_EQ(*ReadFile(torn + "/log.bad"), bytes.substr(ends[whole], tail));
    }
    EXPECT_EQ(*(*writer)->Append("after"), whole + 1);
    EXPECT_EQ(ReadAll(torn).back(), (SeqRecord{whole + 1, "after"}));
  }
}

TEST(AttemptLog, NothingAfterADamagedByteIsTrusted) {
  const TempDir dir;
  Write(dir.File("whole"), {"first", "second", "third"});
  const std::string bytes = *ReadFile(dir.File("whole/log"));
  const size_t second = 16 + 16 + 5;
  for (size_t at = second; at < second + 16 + 6; ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    const std::string path = dir.File("d" + std::to_string(at));
    ASSERT_THAT(MakeDirs(path), IsOk());
    ASSERT_THAT(WriteFileDurably(path + "/log", damaged), IsOk());
    EXPECT_THAT(ReadAll(path), ElementsAre(SeqRecord{1, "first"})) << at;
    const auto writer = AttemptLogWriter::Open(path);
    ASSERT_THAT(writer, IsOk());
    EXPECT_EQ((*writer)->repaired_bytes(), bytes.size() - second);
  }
}

TEST(AttemptLog, ARepeatedEntryEndsTheLog) {
  const TempDir dir;
  Write(dir.path(), {"a", "b"});
  const std::string bytes = *ReadFile(dir.File("log"));
  // The last entry once more, as a retried write after an unnoticed success would leave it.
  ASSERT_THAT(WriteFileDurably(dir.File("log"), bytes + bytes.substr(bytes.size() - 17)), IsOk());
  EXPECT_THAT(ReadAll(dir.path()), ElementsAre(SeqRecord{1, "a"}, SeqRecord{2, "b"}));
}

TEST(AttemptLog, ATornTailIsAddedToTheOnesBefore) {
  const TempDir dir;
  Write(dir.path(), {"a"});
  for (const char* tail : {"one", "two"}) {
    ASSERT_THAT(WriteFileDurably(dir.File("log"), *ReadFile(dir.File("log")) + tail), IsOk());
    EXPECT_EQ((*AttemptLogWriter::Open(dir.path()))->repaired_bytes(), 3u);
  }
  EXPECT_EQ(*ReadFile(dir.File("log.bad")), "onetwo");
}

TEST(AttemptLog, RefusesOtherFiles) {
  const TempDir dir;
  ASSERT_THAT(WriteFileDurably(dir.File("log"), "something else entirely"), IsOk());
  const std::string path = dir.File("log");
  EXPECT_THAT(AttemptLogWriter::Open(dir.path()),
              IsStatus(absl::StatusCode::kDataLoss, path + " is no attempt log"));
  EXPECT_EQ(*ReadFile(path), "something else entirely");
  ASSERT_THAT(WriteFileDurably(path, std::string("NLATTLOG\2\0\0\0\0\0\0\0", 16)), IsOk());
  EXPECT_THAT(
      AttemptLogReader::Open(dir.path()),
      IsStatusWith(absl::StatusCode::kFailedPrecondition, "version 2; this program reads 1"));
  EXPECT_THAT(AttemptLogReader::Open(dir.File("none")),
              IsStatusWith(absl::StatusCode::kNotFound, "No such file"));
}

TEST(AttemptLog, RecordsThatAreTooLongDoNotBreakIt) {
  const TempDir dir;
  const auto writer = AttemptLogWriter::Open(dir.path());
  ASSERT_THAT(writer, IsOk());
  EXPECT_EQ((*writer)->Append(std::string(kMaxRecordBytes + 1, 'x')).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*(*writer)->Append("a"), 1u);
}

TEST(AttemptLogReader, FollowsAWriterAndReadsFromAnywhere) {
  const TempDir dir;
  const auto writer = AttemptLogWriter::Open(dir.path());
  ASSERT_THAT(writer, IsOk());
  const auto reader = AttemptLogReader::Open(dir.path());
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(*(*reader)->ReadFrom(1, 100), IsEmpty());
  EXPECT_EQ(*(*reader)->LastSeq(), 0u);
  constexpr uint64_t kCount = 1000;
  for (uint64_t i = 1; i <= kCount; ++i) {
    ASSERT_THAT((*writer)->Append("record " + std::to_string(i)), IsOk());
  }
  EXPECT_EQ(*(*reader)->LastSeq(), kCount);
  EXPECT_EQ((*reader)->trailing_bytes(), 0u);
  for (uint64_t seq : {1u, 2u, 255u, 256u, 257u, 258u, 513u, 999u, 1000u}) {
    const auto records = (*reader)->ReadFrom(seq, 1);
    ASSERT_THAT(records, IsOk());
    EXPECT_THAT(*records, ElementsAre(SeqRecord{seq, "record " + std::to_string(seq)}));
  }
  EXPECT_THAT(*(*reader)->ReadFrom(kCount + 1, 100), IsEmpty());
  EXPECT_EQ((*reader)->ReadFrom(1, SIZE_MAX)->size(), kCount);
  EXPECT_EQ((*reader)->ReadFrom(1, 30)->size(), 4u);  // 8 bytes each: the fourth passes 30
  EXPECT_EQ((*reader)->ReadFrom(0, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(AttemptLogReader, CountsATornTail) {
  const TempDir dir;
  Write(dir.path(), {"a"});
  ASSERT_THAT(WriteFileDurably(dir.File("log"), *ReadFile(dir.File("log")) + "torn"), IsOk());
  const auto reader = AttemptLogReader::Open(dir.path());
  EXPECT_EQ(*(*reader)->LastSeq(), 1u);
  EXPECT_EQ((*reader)->trailing_bytes(), 4u);
}

}  // namespace
}  // namespace normlab
