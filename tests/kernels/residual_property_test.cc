// What must hold of residual updates whatever the numbers: independence of rows, repeatability,
// refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/residual_run.h"
#include "tests/kernels/row_checks.h"

namespace normlab::kernels {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr TypePair kF32{NORMLAB_F32, NORMLAB_F32};
constexpr TypePair kBf16{NORMLAB_BF16, NORMLAB_BF16};

class ResidualPropertyTest : public testing::TestWithParam<std::string> {
 protected:
  ResidualPropertyTest() : backend_(MakeBackend(GetParam())) {}

  void Run(const TestForm& form, const ResidualInputs& in, Results& out) {
    RunResidual(*backend_, form, in, out);
  }

  std::unique_ptr<Backend> backend_;
};

const FormChoice kFull{
    1.1, 0.7, true, NormChoice::kRmsNorm, NormChoice::kNone, NormChoice::kLayerNorm};

void ExpectSameRow(const Results& one, std::int64_t row, const Results& other, std::int64_t at) {
  EXPECT_TRUE(SameRow(one.stream, row, other.stream, at)) << row;
  EXPECT_TRUE(SameRow(one.next, row, other.next, at)) << row;
  EXPECT_TRUE(SameRow(one.dx, row, other.dx, at)) << row;
  EXPECT_TRUE(SameRow(one.dg, row, other.dg, at)) << row;
}

TEST_P(ResidualPropertyTest, TwoRunsAreBitIdentical) {
  for (const TypePair types : {kF32, kBf16}) {
    const ResidualInputs in = MakeResidualInputs(types, 70, 128, 47);
    const TestForm form(kFull, types, 70, 128), again(kFull, types, 70, 128);
    Results one(in), other(in);
    Run(form, in, one);
    Run(again, in, other);
    EXPECT_EQ(one.stream.bytes(), other.stream.bytes());
    EXPECT_EQ(one.next.bytes(), other.next.bytes());
    EXPECT_EQ(one.dx.bytes(), other.dx.bytes());
    EXPECT_EQ(one.dg.bytes(), other.dg.bytes());
    EXPECT_EQ(one.columns.bytes(), other.columns.bytes());
    EXPECT_EQ(one.db, other.db);
    for (std::int64_t c = 0; c < 128; ++c) {
      ASSERT_EQ(form.Gain(0, c), again.Gain(0, c));
      ASSERT_EQ(form.Bias(2, c), again.Bias(2, c));
    }
  }
}

TEST_P(ResidualPropertyTest, RowAloneEqualsTheRowInABatch) {
  const ResidualInputs in = MakeResidualInputs(kF32, 19, 128, 53);
  const TestForm form(kFull, kF32, 19, 128);
  Results batch(in);
  Run(form, in, batch);
  for (const std::int64_t row : {0, 6, 18}) {
    ResidualInputs alone(kF32, 1, 128);
    for (std::int64_t c = 0; c < 128; ++c) {
      alone.x.Set(0, c, in.x.Get(row, c));
      alone.g.Set(0, c, in.g.Get(row, c));
      alone.dstream.Set(0, c, in.dstream.Get(row, c));
      alone.dnext.Set(0, c, in.dnext.Get(row, c));
    }
    const TestForm same(kFull, kF32, 1, 128);
    Results single(alone);
    Run(same, alone, single);
    ExpectSameRow(batch, row, single, 0);
  }
}

TEST_P(ResidualPropertyTest, RowThatIsNotFiniteTouchesNoOther) {
  for (const double poison : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    ResidualInputs in = MakeResidualInputs(kF32, 13, 128, 59);
    const TestForm form(kFull, kF32, 13, 128);
    Results clean(in), poisoned(in);
    Run(form, in, clean);
    in.x.Set(5, 77, poison);
    Run(form, in, poisoned);
    EXPECT_FALSE(std::isfinite(poisoned.stream.Get(5, 77)));
    for (std::int64_t row = 0; row < 13; ++row) {
      if (row != 5) ExpectSameRow(clean, row, poisoned, row);
    }
  }
}

TEST_P(ResidualPropertyTest, NoRowsAreNoWorkAndGradientsOfZero) {
  for (const std::int64_t cols : {100, 768}) {
    const ResidualInputs in(kF32, 0, cols);
    const TestForm form(kFull, kF32, 0, cols);
    Results out(in);
    out.db = 7;
    Run(form, in, out);
    EXPECT_EQ(out.db, 0);
    for (std::int64_t c = 0; c < cols; ++c) ASSERT_EQ(form.Gain(2, c), 0);
  }
}

TEST_P(ResidualPropertyTest, RefusalsNameBothSides) {
  const ResidualInputs in = MakeResidualInputs(kF32, 3, 768, 61);
  const ResidualInputs narrow = MakeResidualInputs(kF32, 3, 760, 61);
  const TestForm form({}, kF32, 3, 768);
  HostMatrix stream(NORMLAB_F32, 3, 768);
  const auto forward = [&](normlab_matrix x, normlab_matrix g) {
    return backend_->ResidualForward(form.kernel(), {x, g, stream.View(), {}, nullptr});
  };
  EXPECT_EQ(forward(in.x.View(), narrow.g.View()), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), AllOf(HasSubstr("[3, 768]"), HasSubstr("[3, 760]")));
  normlab_matrix misaligned = in.x.View();
  misaligned.data = static_cast<char*>(misaligned.data) + 2;
  EXPECT_EQ(forward(misaligned, in.g.View()), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), HasSubstr("misaligned"));
}

TEST_P(ResidualPropertyTest, DgMayBeMissingOnlyWhereItEqualsDx) {
  const FormChoice choices[] = {
      {1, 0.5, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kNone},
      {1, 1, true, NormChoice::kNone, NormChoice::kNone, NormChoice::kNone},
      {1, 1, false, NormChoice::kRmsNorm, NormChoice::kNone, NormChoice::kNone},
      {1, 1, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kNone, 0, 1e-5, 1.75},
  };
  const auto refuses = [&](const FormChoice& choice, TypePair types) {
    const ResidualInputs in = MakeResidualInputs(types, 2, 128, 83);
    const TestForm form(choice, types, 2, 128);
    Results out(in);
    EXPECT_EQ(backend_->ResidualBackward(form.kernel(), BackwardArgs(form, in, out, {.dg = true}),
                                         form.learned_b()),
              NORMLAB_INVALID_ARGUMENT)
        << Name(choice);
    EXPECT_THAT(normlab_last_error(), HasSubstr("dg may be left out only where it equals dx"));
  };
  for (const FormChoice& choice : choices) refuses(choice, kF32);
  refuses(FormChoice{}, {NORMLAB_F32, NORMLAB_BF16});
}

INSTANTIATE_TEST_SUITE_P(Backends, ResidualPropertyTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
