#include "tests/kernels/residual_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/row_checks.h"

namespace normlab::kernels {

using reference::Vector;

std::string Name(const Without& without) {
  std::string name;
  if (without.dstream) name += " dstream";
  if (without.dnext) name += " dnext";
  if (without.probes) name += " probes";
  if (without.dg) name += " dg";
  if (without.db) name += " db";
  if (without.columns) name += " db_columns";
  if (without.parameters) name += " dgain, dbias";
  return name;
}

normlab_residual_forward_args ForwardArgs(const TestForm& form, const ResidualInputs& in,
                                          Results& out, Without without) {
  normlab_residual_forward_args args{};
  args.x = in.x.View();
  args.g = in.g.View();
  args.stream = out.stream.View();
  if (form.kernel().next.present != 0) args.next = out.next.View();
  if (out.probes.rows() > 0 && !without.probes) args.probes = out.probes.View().data;
  return args;
}

normlab_residual_backward_args BackwardArgs(const TestForm& form, const ResidualInputs& in,
                                            Results& out, Without without) {
  normlab_residual_backward_args args{};
  if (!without.dstream) args.dstream = in.dstream.View();
  if (form.kernel().next.present != 0 && !without.dnext) args.dnext = in.dnext.View();
  args.x = in.x.View();
  args.g = in.g.View();
  args.stream = out.stream.View();
  args.dx = out.dx.View();
  if (!without.dg) args.dg = out.dg.View();
  if (!without.db) args.db = &out.db;
  if (!without.columns) args.db_columns = out.columns.View().data;
  return args;
}

void RunResidual(Backend& backend, const TestForm& form, const ResidualInputs& in, Results& out,
                 Without without) {
  normlab_residual_form kernel = form.kernel();
  for (normlab_norm_stage* stage : {&kernel.branch, &kernel.post, &kernel.next}) {
    if (without.parameters) stage->dgain = stage->dbias = nullptr;
  }
  ASSERT_EQ(backend.ResidualForward(kernel, ForwardArgs(form, in, out, without), form.learned_b()),
            NORMLAB_OK)
      << normlab_last_error();
  ASSERT_EQ(
      backend.ResidualBackward(kernel, BackwardArgs(form, in, out, without), form.learned_b()),
      NORMLAB_OK)
      << normlab_last_error();
}

namespace {

constexpr auto kRegimes = static_cast<std::int64_t>(ResidualRegime::kCount);

// Column sums over all rows: what they should be, and how far off they may be.
struct Sums {
  explicit Sums(std::size_t width) : want(width, 0), slack(width, 0) {}
  // A row's part, as often as the row comes up, added to as many others in one partial sum.
  void Add(const Vector& part, const std::vector<double>& bounds, std::int64_t times,
           double adding) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      const double size = adding * std::fabs(static_cast<double>(part[i]));
      want[i] += times * part[i];
      slack[i] += static_cast<double>(times) * (bounds[i] + size);
    }
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

void ExpectSums(const TestForm& form, const std::vector<Sums>& sums, const Results& out,
                Without without) {
  static const char* const kNames[3] = {"branch", "post", "next"};
  for (std::size_t k = 0; k < 3; ++k) {
    if (!form.HasParameters(k) || without.parameters) continue;
    SCOPED_TRACE(kNames[k]);
    sums[2 * k].Expect("dgain", [&](std::int64_t c) { return form.Gain(k, c); });
    sums[2 * k + 1].Expect("dbias", [&](std::int64_t c) { return form.Bias(k, c); });
  }
  if (without.columns) return;
  sums[6].Expect("db_columns", [&](std::int64_t c) { return out.columns.Get(0, c); });
}

}  // namespace

void ExpectMatches(const TestForm& form, TypePair types, const ResidualInputs& in,
                   const Results& out, Without without, std::int64_t period) {
  const std::int64_t rows = in.x.rows();
  period = std::min(period, rows);
  for (const HostMatrix* result : {&out.stream, &out.next, &out.dx, &out.dg}) {
    ASSERT_TRUE(result->Repeats(period));
  }
  const double adding = RowsOfAPartial(rows) * ArithmeticRoundoff(types.stream);
  std::vector<Sums> sums(7, Sums(static_cast<std::size_t>(in.x.cols())));
  long double db = 0;
  double db_slack = 0;
  const bool next = form.kernel().next.present != 0;
  for (std::int64_t r = 0; r < period; ++r) {
    SCOPED_TRACE(Name(static_cast<ResidualRegime>(r % kRegimes)));
    const Vector x = in.x.Row(r), g = in.g.Row(r), stream = out.stream.Row(r);
    const Vector dstream = without.dstream ? Vector() : in.dstream.Row(r);
    const Vector dnext = next && !without.dnext ? in.dnext.Row(r) : Vector();
    const auto& reference = form.reference();
    const auto row = reference::ResidualForward(reference, x, g);
    const auto back = reference::ResidualBackward(reference, x, g, stream, dstream, dnext);
    const auto bounds = ResidualBoundsOf(reference, types, x, stream, dnext, row, back);
    ExpectRow(out.stream, r, row.stream, bounds.stream, "stream");
    if (next) {
      const auto& stage = reference.next;
      const auto norm = reference::NormForward(stage.options, stream, stage.gain, stage.bias);
      ExpectRow(out.next, r, norm.out, NextBounds(reference, types, norm), "next");
    }
    ExpectRow(out.dx, r, back.dx, bounds.dx, "dx");
    if (!without.dg) ExpectRow(out.dg, r, back.dg, bounds.dg, "dg");
    if (testing::Test::HasFatalFailure()) return;
    const std::int64_t times = TimesOf(r, period, rows);
    for (std::size_t k = 0; k < 3; ++k) {
      sums[2 * k].Add(back.by_gain[k], bounds.gain[k], times, adding);
      sums[2 * k + 1].Add(back.by_bias[k], bounds.bias[k], times, adding);
    }
    sums[6].Add(back.by_columns, bounds.columns, times, adding);
    db += times * back.db;
    db_slack += static_cast<double>(times) * bounds.db;
  }
  ExpectSums(form, sums, out, without);
  if (!without.db) {
    EXPECT_NEAR(out.db, static_cast<double>(db), db_slack);
  }
}

}  // namespace normlab::kernels
