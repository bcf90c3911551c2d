#include "core/text_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SplitTextTest : public testing::Test {
 protected:
  TextSpan Put(const std::string& name, const std::string& text) {
    CHECK_OK(WriteFileDurably(dir_.File(name), text));
    return {dir_.File(name), 0, static_cast<int64_t>(text.size())};
  }
  TempDir dir_;
};

TEST_F(SplitTextTest, CutsBehindALine) {
  const TextSpan file = Put("a", std::string(80, 'a') + "\n" + std::string(319, 'b'));
  const auto split = SplitText({file});
  ASSERT_THAT(split, IsOk());
  EXPECT_THAT(split->train, ElementsAre(TextSpan{file.path, 0, 81}));
  EXPECT_THAT(split->val, ElementsAre(TextSpan{file.path, 81, 400}));
}

TEST_F(SplitTextTest, CutsBetweenCharactersWhereThereIsNoLine) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\xe2\x82\xac";  // the euro sign, three bytes
  const TextSpan file = Put("a", text + "x");
  const auto split = SplitText({file});
  ASSERT_THAT(split, IsOk());
  // 301 − 15 = 286 bytes would end in the middle of a sign.
  EXPECT_THAT(split->train, ElementsAre(TextSpan{file.path, 0, 285}));
}

TEST_F(SplitTextTest, FilesAreOneText) {
  const TextSpan a = Put("a", std::string(600, 'a')), b = Put("b", std::string(390, 'b')),
                 c = Put("c", std::string(10, 'c'));
  const auto split = SplitText({a, b, c});
  ASSERT_THAT(split, IsOk());
  EXPECT_THAT(split->train, ElementsAre(a, TextSpan{b.path, 0, 350}));
  EXPECT_THAT(split->val, ElementsAre(TextSpan{b.path, 350, 390}, c));
  EXPECT_EQ(BytesOf(split->train) + BytesOf(split->val), 1000);
}

TEST_F(SplitTextTest, TooLittleTextLeavesOneSideEmpty) {
  EXPECT_THAT(SplitText({Put("a", "short")})->val, IsEmpty());
}

}  // namespace
}  // namespace normlab
