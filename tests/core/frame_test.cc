#include "core/frame.h"

#include <gtest/gtest.h>

#include <csignal>

#include "core/file.h"
#include "core/record.h"
#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

std::vector<std::string> Drain(FrameParser& parser) {
  std::vector<std::string> records;
  while (true) {
    const auto next = parser.Next();
    EXPECT_THAT(next, IsOk());
    if (!next.ok() || !*next) return records;
    records.push_back(**next);
  }
}

TEST(Frame, GoThroughAPipe) {
  auto pipe = MakePipe();
  ASSERT_THAT(pipe, IsOk());
  FrameWriter writer(pipe->write.get());
  const std::vector<std::string> sent = {"one", "", std::string(1000, 'x')};
  for (const std::string& record : sent) ASSERT_THAT(writer.Write(record), IsOk());
  pipe->write.Reset();
  FrameParser parser;
  parser.Feed(*ReadFile("/dev/fd/" + std::to_string(pipe->read.get())));
  EXPECT_EQ(Drain(parser), sent);
  EXPECT_EQ(parser.pending_bytes(), 0u);
}

TEST(Frame, AnyCutOfTheStreamGivesTheSame) {
  const std::vector<std::string> sent = {"a", "bcdef", "", "ghi"};
  std::string stream;
  for (const std::string& record : sent) stream += EncodeFrame(record);
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    FrameParser parser;
    parser.Feed(stream.substr(0, cut));
    std::vector<std::string> records = Drain(parser);
    parser.Feed(stream.substr(cut));
    for (const std::string& record : Drain(parser)) records.push_back(record);
    EXPECT_EQ(records, sent) << cut;
  }
}

TEST(Frame, DamageStaysAnError) {
  for (size_t at = 4; at < 13; ++at) {
    std::string stream = EncodeFrame("hello");
    stream[at] = static_cast<char>(stream[at] ^ 1);
    FrameParser parser;
    parser.Feed(stream + EncodeFrame("next"));
    const auto wrong = absl::StatusCode::kDataLoss;
    EXPECT_THAT(parser.Next(), IsStatus(wrong, "a frame whose checksum is wrong")) << at;
    EXPECT_THAT(parser.Next(), IsStatus(wrong, "a frame whose checksum is wrong")) << at;
  }
  FrameParser parser;
  parser.Feed(std::string("\xff\xff\xff\xff\0\0\0\0", 8));
  EXPECT_THAT(parser.Next(), IsStatusWith(absl::StatusCode::kDataLoss, "4294967295 bytes"));
}

TEST(Frame, WriterSeesThatTheReaderIsGone) {
  signal(SIGPIPE, SIG_IGN);
  auto pipe = MakePipe();
  ASSERT_THAT(pipe, IsOk());
  pipe->read.Reset();
  EXPECT_EQ(FrameWriter(pipe->write.get()).Write("x").code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace normlab
