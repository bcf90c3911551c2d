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
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128, 768}) {
      const ResidualInputs in = MakeResidualInputs(types, 35, cols, 47);
      const TestForm form(kFull, types, 35, cols), again(kFull, types, 35, cols);
      Results one(in), other(in);
      Run(form, in, one);
      Run(again, in, other);
      EXPECT_EQ(one.stream.bytes(), other.stream.bytes());
      EXPECT_EQ(one.next.bytes(), other.next.bytes());
      EXPECT_EQ(one.dx.bytes(), other.dx.bytes());
      EXPECT_EQ(one.dg.bytes(), other.dg.bytes());
      EXPECT_EQ(one.columns.bytes(), other.columns.bytes());
      EXPECT_EQ(one.probes.bytes(), other.probes.bytes());
      EXPECT_EQ(one.db, other.db);
      for (std::int64_t c = 0; c < cols; ++c) {
        ASSERT_EQ(form.Gain(0, c), again.Gain(0, c));
        ASSERT_EQ(form.Bias(2, c), again.Bias(2, c));
      }
    }
  }
}

TEST_P(ResidualPropertyTest, RowAloneEqualsTheRowInABatch) {
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128, 768, 1600}) {
      const ResidualInputs in = MakeResidualInputs(types, 11, cols, 53);
      const TestForm form(kFull, types, 11, cols);
      Results batch(in);
      Run(form, in, batch);
      for (const std::int64_t row : {0, 6, 10}) {
        SCOPED_TRACE(testing::Message()
                     << "width " << cols << " " << Name(types.stream) << "+" << Name(types.branch));
        const ResidualInputs alone = OneRow(in, row);
        const TestForm same(kFull, types, 1, cols);
        Results single(alone);
        Run(same, alone, single);
        ExpectSameRow(batch, row, single, 0);
      }
    }
  }
}

TEST_P(ResidualPropertyTest, RowThatIsNotFiniteTouchesNoOther) {
  constexpr std::int64_t kRows = 7, kPoisoned = 5;
  const double poisons[] = {std::nan(""), std::numeric_limits<double>::infinity()};
  std::size_t turn = 0;
  for (const TypePair types : TypePairs()) {
    for (const std::int64_t cols : {100, 128, 768, 1600}) {
      const ResidualInputs in = MakeResidualInputs(types, kRows, cols, 59);
      const TestForm form(kFull, types, kRows, cols);
      Results clean(in);
      Run(form, in, clean);
      for (const auto operand :
           {&ResidualInputs::x, &ResidualInputs::g, &ResidualInputs::dstream}) {
        SCOPED_TRACE(testing::Message() << "width " << cols << " " << Name(types.stream) << "+"
                                        << Name(types.branch) << " poison " << turn);
        ResidualInputs bad = in;
        (bad.*operand).Set(kPoisoned, 77, poisons[turn++ % 2]);
        Results poisoned(in);
        Run(form, bad, poisoned);
        EXPECT_EQ(std::isfinite(poisoned.stream.Get(kPoisoned, 77)),
                  operand == &ResidualInputs::dstream);
        EXPECT_FALSE(std::isfinite(poisoned.dx.Get(kPoisoned, 77)));
        for (std::int64_t row = 0; row < kRows; ++row) {
          if (row != kPoisoned) ExpectSameRow(clean, row, poisoned, row);
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(ResidualPropertyTest, RowsMayLieApart) {
  for (const TypePair types : {kF32, kBf16, kMixed}) {
    for (const std::int64_t cols : {100, 128, 768}) {
      const std::int64_t gap = GapFor(cols);
      const ResidualInputs packed = MakeResidualInputs(types, 9, cols, 65);
      const ResidualInputs apart = MakeResidualInputs(types, 9, cols, 65, gap);
      const TestForm form(kFull, types, 9, cols);
      Results one(packed), other(apart, 2 * gap);
      Run(form, packed, one);
      Run(form, apart, other);
      for (std::int64_t row = 0; row < 9; ++row) ExpectSameRow(one, row, other, row);
      for (const HostMatrix* result : {&other.stream, &other.next, &other.dx, &other.dg}) {
        EXPECT_TRUE(result->GapsUntouched());
      }
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
    return backend_->ResidualForward(form.kernel(), {x, g, stream.View(), {}, nullptr, nullptr});
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
  refuses(FormChoice{}, kMixed);
}

TEST_P(ResidualPropertyTest, BackwardRefusesWhatItCannotUse) {
  const ResidualInputs in = MakeResidualInputs(kF32, 3, 768, 61);
  const ResidualInputs narrow = MakeResidualInputs(kF32, 3, 760, 61);
  const ResidualInputs wide = MakeResidualInputs(kF64, 3, 768, 61);
  const TestForm form(kFull, kF32, 3, 768);
  Results out(in);
  const auto sentence = [&](auto change) -> std::string {
    normlab_residual_form kernel = form.kernel();
    normlab_residual_backward_args args = BackwardArgs(form, in, out);
    change(args, kernel);
    EXPECT_EQ(backend_->ResidualBackward(kernel, args), NORMLAB_INVALID_ARGUMENT);
    return normlab_last_error();
  };
  EXPECT_THAT(sentence([&](auto& args, auto&) { args.g = narrow.g.View(); }),
              AllOf(HasSubstr("dx has the shape [3, 768]"), HasSubstr("g has the shape [3, 760]")));
  EXPECT_THAT(sentence([&](auto& args, auto&) { args.g = wide.g.View(); }),
              AllOf(HasSubstr("dx [3, 768] is F32"), HasSubstr("g [3, 768] is F64")));
  EXPECT_THAT(
      sentence([&](auto& args, auto&) { args.dnext = narrow.dnext.View(); }),
      AllOf(HasSubstr("g has the shape [3, 768]"), HasSubstr("dnext has the shape [3, 760]")));
  EXPECT_THAT(sentence([&](auto& args, auto&) { args.stream = wide.x.View(); }),
              AllOf(HasSubstr("dx [3, 768] is F32"), HasSubstr("stream [3, 768] is F64")));
  EXPECT_THAT(sentence([&](auto&, auto& kernel) { kernel.next.saved = nullptr; }),
              HasSubstr("needs what the forward pass saved"));
  EXPECT_THAT(sentence([&](auto&, auto& kernel) {
                kernel.branch.dgain = static_cast<char*>(kernel.branch.dgain) + 2;
              }),
              HasSubstr("branch dgain is misaligned"));
  EXPECT_THAT(sentence([&](auto& args, auto&) {
                args.db_columns = static_cast<char*>(args.db_columns) + 2;
              }),
              HasSubstr("db_columns is misaligned"));
}

INSTANTIATE_TEST_SUITE_P(Backends, ResidualPropertyTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
