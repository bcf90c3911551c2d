#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tests/kernels/backend.h"
#include "tests/kernels/residual_cases.h"
#include "tests/kernels/row_checks.h"

namespace normlab::kernels {
namespace {

using reference::Vector;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto kRegimes = static_cast<std::int64_t>(ResidualRegime::kCount);
constexpr TypePair kF32{NORMLAB_F32, NORMLAB_F32};
constexpr TypePair kBf16{NORMLAB_BF16, NORMLAB_BF16};

struct Results {
  explicit Results(const ResidualInputs& in)
      : stream(in.x.dtype(), in.x.rows(), in.x.cols()),
        next(in.g.dtype(), in.x.rows(), in.x.cols()),
        dx(in.x.dtype(), in.x.rows(), in.x.cols()),
        dg(in.g.dtype(), in.x.rows(), in.x.cols()),
        columns(in.x.dtype() == NORMLAB_F64 ? NORMLAB_F64 : NORMLAB_F32, 1, in.x.cols()),
        probes(columns.dtype(), in.x.rows(), NORMLAB_ROW_PROBES) {}
  HostMatrix stream, next, dx, dg, columns, probes;
  double db = 0;
};

// What is left out of a backward pass.
struct Without {
  bool dstream = false, dnext = false;
};

class ResidualTest : public testing::TestWithParam<std::string> {
 protected:
  ResidualTest() : backend_(MakeBackend(GetParam())) {}

  void Run(const TestForm& form, const ResidualInputs& in, Results& out, Without without = {}) {
    const bool next = form.kernel().next.present != 0;
    ASSERT_EQ(backend_->ResidualForward(form.kernel(),
                                        {in.x.View(), in.g.View(), out.stream.View(),
                                         next ? out.next.View() : normlab_matrix{},
                                         out.probes.rows() > 0 ? out.probes.View().data : nullptr},
                                        form.learned_b()),
              NORMLAB_OK)
        << normlab_last_error();
    normlab_residual_backward_args args{};
    if (!without.dstream) args.dstream = in.dstream.View();
    if (next && !without.dnext) args.dnext = in.dnext.View();
    args.x = in.x.View();
    args.g = in.g.View();
    args.stream = out.stream.View();
    args.dx = out.dx.View();
    args.dg = out.dg.View();
    args.db = &out.db;
    args.db_columns = out.columns.View().data;
    ASSERT_EQ(backend_->ResidualBackward(form.kernel(), args, form.learned_b()), NORMLAB_OK)
        << normlab_last_error();
  }

  std::unique_ptr<Backend> backend_;
};

// Column sums over all rows: what they should be, and how far off they may be.
struct Sums {
  explicit Sums(std::size_t width) : want(width, 0), slack(width, 0) {}
  void Add(const Vector& part, const std::vector<double>& bounds) {
    for (std::size_t i = 0; i < part.size(); ++i) want[i] += part[i], slack[i] += bounds[i];
  }
  void Expect(const char* name, auto got) const {
    for (std::size_t i = 0; i < want.size(); ++i) {
      // And one rounding of the sum itself.
      const double most = slack[i] + 0x1p-23 * std::fabs(static_cast<double>(want[i]));
      ASSERT_NEAR(got(static_cast<std::int64_t>(i)), static_cast<double>(want[i]), most)
          << name << " at column " << i;
    }
  }
  Vector want;
  std::vector<double> slack;
};

void ExpectSums(const TestForm& form, const std::vector<Sums>& sums, const Results& out) {
  static const char* const kNames[3] = {"branch", "post", "next"};
  for (std::size_t k = 0; k < 3; ++k) {
    if (!form.HasParameters(k)) continue;
    SCOPED_TRACE(kNames[k]);
    sums[2 * k].Expect("dgain", [&](std::int64_t c) { return form.Gain(k, c); });
    sums[2 * k + 1].Expect("dbias", [&](std::int64_t c) { return form.Bias(k, c); });
  }
  sums[6].Expect("db_columns", [&](std::int64_t c) { return out.columns.Get(0, c); });
}

void ExpectMatches(const TestForm& form, TypePair types, const ResidualInputs& in,
                   const Results& out, Without without = {}) {
  std::vector<Sums> sums(7, Sums(static_cast<std::size_t>(in.x.cols())));
  long double db = 0;
  double db_slack = 0;
  const bool next = form.kernel().next.present != 0;
  for (std::int64_t r = 0; r < in.x.rows(); ++r) {
    SCOPED_TRACE(Name(static_cast<ResidualRegime>(r % kRegimes)));
    const Vector x = in.x.Row(r), g = in.g.Row(r), stream = out.stream.Row(r);
    const Vector dstream = without.dstream ? Vector() : in.dstream.Row(r);
    const Vector dnext = next && !without.dnext ? in.dnext.Row(r) : Vector();
    const auto& reference = form.reference();
    const auto row = reference::ResidualForward(reference, x, g);
    const auto back = reference::ResidualBackward(reference, x, g, stream, dstream, dnext);
    const auto bounds = ResidualBoundsOf(reference, types, x, g, stream, dstream, dnext);
    ExpectRow(out.stream, r, row.stream, bounds.stream, "stream");
    if (next) {
      const auto& stage = reference.next;
      const auto norm = reference::NormForward(stage.options, stream, stage.gain, stage.bias);
      ExpectRow(out.next, r, norm.out, NextBounds(reference, types, norm), "next");
    }
    ExpectRow(out.dx, r, back.dx, bounds.dx, "dx");
    ExpectRow(out.dg, r, back.dg, bounds.dg, "dg");
    if (testing::Test::HasFatalFailure()) return;
    for (std::size_t k = 0; k < 3; ++k) {
      sums[2 * k].Add(back.by_gain[k], bounds.gain[k]);
      sums[2 * k + 1].Add(back.by_bias[k], bounds.bias[k]);
    }
    sums[6].Add(back.by_columns, bounds.columns);
    db += back.db;
    db_slack += bounds.db;
  }
  ExpectSums(form, sums, out);
  EXPECT_NEAR(out.db, static_cast<double>(db), db_slack);
}

TEST_P(ResidualTest, MatchesTheReferenceForEveryForm) {
  for (const FormChoice& choice : FormChoices()) {
    // PB-relax shrinks eps with the row: the gradients of a subnormal row would be beyond fp32.
    const auto subnormal = static_cast<std::int64_t>(ResidualRegime::kSubnormal);
    const std::int64_t rows = choice.pb_relax != 0 ? subnormal : 2 * kRegimes;
    for (const TypePair types : TypePairs()) {
      for (const std::int64_t cols : {128, 136}) {
        SCOPED_TRACE(testing::Message() << Name(choice) << " width " << cols << " "
                                        << Name(types.stream) << "+" << Name(types.branch));
        const ResidualInputs in = MakeResidualInputs(types, rows, cols, 31);
        const TestForm form(choice, types, rows, cols);
        Results out(in);
        Run(form, in, out);
        ExpectMatches(form, types, in, out);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ResidualTest, MatchesTheReferenceAtEveryWidth) {
  const FormChoice choices[] = {
      {1, 1, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kLayerNorm},
      {1.5, 1, false, NormChoice::kNone, NormChoice::kRmsNorm, NormChoice::kNone},
      {1, 0.5, true, NormChoice::kLayerNorm, NormChoice::kNone, NormChoice::kRmsNorm},
  };
  for (const FormChoice& choice : choices) {
    for (const std::int64_t cols : {8, 100, 384, 768, 1024, 1280, 1600, 2048, 4096}) {
      for (const TypePair types : TypePairs()) {
        SCOPED_TRACE(testing::Message() << Name(choice) << " width " << cols << " "
                                        << Name(types.stream) << "+" << Name(types.branch));
        const ResidualInputs in = MakeResidualInputs(types, 3, cols, 37);
        const TestForm form(choice, types, 3, cols);
        Results out(in);
        Run(form, in, out);
        ExpectMatches(form, types, in, out);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ResidualTest, OneUpstreamMayBeMissing) {
  const FormChoice choice{
      1, 1, false, NormChoice::kLayerNorm, NormChoice::kNone, NormChoice::kLayerNorm};
  for (const Without without : {Without{true, false}, Without{false, true}}) {
    for (const std::int64_t cols : {100, 128}) {
      const ResidualInputs in = MakeResidualInputs(kF32, kRegimes, cols, 41);
      const TestForm form(choice, kF32, kRegimes, cols);
      Results out(in);
      Run(form, in, out, without);
      if (!without.dnext) {
        ExpectMatches(form, kF32, in, out, without);
        continue;
      }
      // Then the sums of the next norm are zero.
      for (std::int64_t c = 0; c < cols; ++c) {
        ASSERT_EQ(form.Gain(2, c), 0);
        ASSERT_EQ(form.Bias(2, c), 0);
      }
    }
  }
}

TEST_P(ResidualTest, ProbesTellMagnitudeAndAngle) {
  for (const TypePair types : {kF32, kBf16}) {
    for (const std::int64_t cols : {100, 768}) {
      const ResidualInputs in = MakeResidualInputs(types, 1, cols, 43);
      const TestForm form({1, 0.2}, types, 1, cols);
      Results out(in);
      Run(form, in, out);
      const Vector x = in.x.Row(0), s = out.stream.Row(0);
      long double absolute = 0, squares = 0, xx = 0, dot = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        absolute += std::fabs(s[i]);
        squares += s[i] * s[i];
        xx += x[i] * x[i];
        dot += x[i] * s[i];
      }
      const double angle = std::acos(static_cast<double>(dot / std::sqrt(squares * xx)));
      EXPECT_NEAR(out.probes.Get(0, 0), static_cast<double>(absolute / x.size()), 1e-5);
      EXPECT_NEAR(out.probes.Get(0, 1) / static_cast<double>(squares), 1, 1e-5);
      EXPECT_NEAR(out.probes.Get(0, 2), angle, 1e-5);
    }
  }
}

const FormChoice kFull{
    1.1, 0.7, true, NormChoice::kRmsNorm, NormChoice::kNone, NormChoice::kLayerNorm};

void ExpectSameRow(const Results& one, std::int64_t row, const Results& other, std::int64_t at) {
  EXPECT_TRUE(SameRow(one.stream, row, other.stream, at)) << row;
  EXPECT_TRUE(SameRow(one.next, row, other.next, at)) << row;
  EXPECT_TRUE(SameRow(one.dx, row, other.dx, at)) << row;
  EXPECT_TRUE(SameRow(one.dg, row, other.dg, at)) << row;
}

TEST_P(ResidualTest, TwoRunsAreBitIdentical) {
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

TEST_P(ResidualTest, RowAloneEqualsTheRowInABatch) {
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

TEST_P(ResidualTest, RowThatIsNotFiniteTouchesNoOther) {
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

TEST_P(ResidualTest, NoRowsAreNoWorkAndGradientsOfZero) {
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

// On CUDA at most 2112 row groups stride over the rows; more than 65,535 rows where the backend is
// fast enough for them.
TEST_P(ResidualTest, RowsBeyondTheGrid) {
  const bool fast = backend_->MostElements() > 1000000;
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{2300, 128}, {fast ? 65537 : 600, 8}};
  for (const auto& [rows, cols] : shapes) {
    SCOPED_TRACE(testing::Message() << rows << "x" << cols);
    const ResidualInputs in = MakeResidualInputs(kF32, rows, cols, 67);
    const TestForm form(kFull, kF32, rows, cols);
    Results out(in);
    Run(form, in, out);
    ExpectMatches(form, kF32, in, out);
  }
}

TEST_P(ResidualTest, RefusalsNameBothSides) {
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

INSTANTIATE_TEST_SUITE_P(Backends, ResidualTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
