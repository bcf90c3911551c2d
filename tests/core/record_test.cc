#include "core/record.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/random.h"
#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

std::vector<Record> OneOfEach() {
  return {
      HelloRecord{1, "0.1.0", 1, "2.13.0", "avx512", 2, "cuda:0", 4711, 12, "2026-01-01T00:00:00Z"},
      ScalarsRecord{7, {{"train_loss", 2.5}, {"grad_norm", -0.0}, {"", 1e-300}}},
      ProfileRecord{50, "angle", 1, {0.5, INFINITY, -INFINITY}},
      EventRecord{51, "stopped", R"({"rule":"nonfinite"})"},
      EvalRecord{100, 2.4, 11.0, 11.5},
      CheckpointRecord{100, "checkpoints/r1/1/100", std::string(64, 'e'), 123456789012},
      LogLineRecord{std::string("line with \0 and \xff", 17)},
      LostRecord{3, "the disk is full"},
      ExitRecord{0, 9, "out_of_memory", "", 1 << 30, 12.5, 24.25, {"last", "", "lines"}, 99}};
}

TEST(Record, EveryTypeReadsBack) {
  const std::vector<Record> records = OneOfEach();
  ASSERT_EQ(records.size(), std::variant_size_v<Record>);
  for (size_t i = 0; i < records.size(); ++i) {
    const std::string bytes = EncodeRecord(records[i]);
    EXPECT_EQ(bytes[0], static_cast<char>(i + 1)) << "types never change their number";
    const auto decoded = DecodeRecord(bytes);
    ASSERT_THAT(decoded, IsOk());
    EXPECT_EQ(*decoded, records[i]);
  }
}

TEST(Record, LayoutIsFrozen) {
  EXPECT_EQ(EncodeRecord(EvalRecord{258, 1.0, -2.0, 0.0}), std::string("\x05\x02\x01\0\0\0\0\0\0"
                                                                       "\0\0\0\0\0\0\xf0\x3f"
                                                                       "\0\0\0\0\0\0\0\xc0"
                                                                       "\0\0\0\0\0\0\0\0",
                                                                       33));
  EXPECT_EQ(EncodeRecord(ScalarsRecord{1, {{"lr", 1.0}}}),
            std::string("\x02\x01\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0lr\0\0\0\0\0\0\xf0\x3f", 27));
}

TEST(Record, NonFiniteValuesKeepEveryBit) {
  for (uint64_t bits : {0x7ff8000000000001u, 0xfff8dead0000beefu, 0x7ff0000000000001u,
                        0x7ff0000000000000u, 0xfff0000000000000u, 0x8000000000000000u}) {
    const Record record = ScalarsRecord{1, {{"train_loss", std::bit_cast<double>(bits)}}};
    const auto decoded = DecodeRecord(EncodeRecord(record));
    ASSERT_THAT(decoded, IsOk());
    EXPECT_EQ(std::bit_cast<uint64_t>(std::get<ScalarsRecord>(*decoded).values[0].second), bits);
  }
}

TEST(Record, CutShortOrTooLongIsDataLoss) {
  for (const Record& record : OneOfEach()) {
    const std::string bytes = EncodeRecord(record);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(DecodeRecord(bytes.substr(0, size)).status().code(), absl::StatusCode::kDataLoss);
    }
    EXPECT_EQ(DecodeRecord(bytes + "x").status().code(), absl::StatusCode::kDataLoss);
  }
  for (char type : {'\0', '\x0a', '\xff'}) {
    EXPECT_THAT(DecodeRecord(std::string(1, type)),
                IsStatusWith(absl::StatusCode::kDataLoss, "a record of unknown type"));
  }
}

// Whatever the bytes are: an answer, no crash, no gigabytes for a count that lies.
TEST(Record, SurvivesRandomBytes) {
  const auto random = SeededRandom(1);
  int decoded = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = EncodeRecord(OneOfEach()[random->Next() % 9]);
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random->Next() % bytes.size()] = static_cast<char>(random->Next());
    }
    const auto record = DecodeRecord(bytes);
    if (!record.ok()) continue;
    ++decoded;
    EXPECT_EQ(EncodeRecord(*record), bytes) << "one encoding for one record";
  }
  EXPECT_GT(decoded, 100);
}

}  // namespace
}  // namespace normlab
