#include "worker/line_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace normlab::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::SizeIs;

// Feeds the pieces and gives back the lines, as handed on and as remembered.
std::vector<std::string> LinesOf(const std::vector<std::string>& pieces) {
  std::vector<std::string> handed_on;
  LineTail tail([&handed_on](std::string_view line) { handed_on.emplace_back(line); });
  for (const std::string& piece : pieces) tail.Feed(piece);
  tail.End();
  EXPECT_THAT(tail.LastLines(), ElementsAreArray(handed_on));
  return handed_on;
}

TEST(LineTailTest, CutsAtLineEndsWhereverThePiecesEnd) {
  EXPECT_THAT(LinesOf({"one\ntwo\n"}), ElementsAre("one", "two"));
  EXPECT_THAT(LinesOf({"o", "ne", "\nt", "wo\n"}), ElementsAre("one", "two"));
  EXPECT_THAT(LinesOf({"one\r\ntwo"}), ElementsAre("one", "two"));
  EXPECT_THAT(LinesOf({"\n\n"}), ElementsAre("", ""));
  EXPECT_THAT(LinesOf({""}), ElementsAre());
}

TEST(LineTailTest, EndlessLineIsCutIntoPieces) {
  const auto lines = LinesOf({std::string(10'000, 'x')});
  EXPECT_THAT(lines, ElementsAre(SizeIs(4096), SizeIs(4096), SizeIs(10'000 - 2 * 4096)));
}

TEST(LineTailTest, RemembersOnlyTheLastLines) {
  int handed_on = 0;
  LineTail tail([&handed_on](std::string_view) { ++handed_on; });
  for (int i = 1; i <= 500; ++i) tail.Feed(std::to_string(i) + "\n");
  EXPECT_EQ(handed_on, 500);
  ASSERT_THAT(tail.LastLines(), SizeIs(200));
  EXPECT_EQ(tail.LastLines().front(), "301");
  EXPECT_EQ(tail.LastLines().back(), "500");
}

}  // namespace
}  // namespace normlab::worker
