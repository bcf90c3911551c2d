// Each probe against a direct fp64 computation in plain loops on the stored activations.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/probes/angle.h"
#include "model/probes/branch_profile.h"
#include "model/probes/hidden_profile.h"
#include "model/probes/peri_bound.h"
#include "tests/model/probed_model.h"

namespace normlab::model {
namespace {

// [B, T, d] as nested loops see it.
struct Cube {
  explicit Cube(const at::Tensor& t)
      : data(t.to(at::kDouble).contiguous()), b(t.size(0)), n(t.size(1)), d(t.size(2)) {}
  double At(int64_t i, int64_t j, int64_t k) const {
    return data.const_data_ptr<double>()[(i * n + j) * d + k];
  }
  at::Tensor data;
  int64_t b, n, d;
};

Tape RandomTape(int64_t states) {
  at::Generator generator = at::detail::createCPUGenerator(3);
  Tape tape;
  for (int64_t s = 0; s < states; ++s) {
    tape.hidden.push_back(at::randn({3, 5, 7}, generator, at::kFloat) * (1.0 + s) + 0.3);
  }
  return tape;
}

// Variance over tokens and samples of each feature, then the mean over features.
double VarianceOverData(const Cube& x) {
  const double rows = static_cast<double>(x.b * x.n);
  double expected = 0;
  for (int64_t k = 0; k < x.d; ++k) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < x.b; ++i) {
      for (int64_t j = 0; j < x.n; ++j) mean += x.At(i, j, k) / rows;
    }
    for (int64_t i = 0; i < x.b; ++i) {
      for (int64_t j = 0; j < x.n; ++j) square += std::pow(x.At(i, j, k) - mean, 2);
    }
    expected += square / (rows - 1) / static_cast<double>(x.d);
  }
  return expected;
}

void ExpectHiddenDefinitions(const Tape& tape) {
  const auto profiles = HiddenProfiles(tape, 1);
  ASSERT_EQ(profiles[0].values.size(), tape.hidden.size());
  EXPECT_EQ(profiles[0].first_index, 0);
  for (size_t s = 0; s < tape.hidden.size(); ++s) {
    const Cube x(tape.hidden[s]);
    const double entries = static_cast<double>(x.n * x.d);
    double ma = 0, var = 0, rms = 0, largest = 0;
    for (int64_t i = 0; i < x.b; ++i) {
      double sum = 0, magnitude = 0, square = 0, centred = 0;
      for (int64_t j = 0; j < x.n; ++j) {
        for (int64_t k = 0; k < x.d; ++k) {
          sum += x.At(i, j, k);
          magnitude += std::abs(x.At(i, j, k));
          square += x.At(i, j, k) * x.At(i, j, k);
          largest = std::max(largest, std::abs(x.At(i, j, k)));
        }
      }
      for (int64_t j = 0; j < x.n; ++j) {
        for (int64_t k = 0; k < x.d; ++k) {
          centred += std::pow(x.At(i, j, k) - sum / entries, 2);
        }
      }
      ma += magnitude / entries / static_cast<double>(x.b);
      var += centred / (entries - 1) / static_cast<double>(x.b);
      rms += std::sqrt(square / entries) / static_cast<double>(x.b);
    }
    EXPECT_NEAR(Find(profiles, "hidden_ma")[s], ma, 1e-12 * ma);
    EXPECT_NEAR(Find(profiles, "hidden_var")[s], var, 1e-12 * var);
    EXPECT_NEAR(Find(profiles, "hidden_rms")[s], rms, 1e-12 * rms);
    EXPECT_EQ(Find(profiles, "hidden_max")[s], largest);
    const double var_data = VarianceOverData(x);
    EXPECT_NEAR(Find(profiles, "var_data")[s], var_data, 1e-12 * var_data);
  }
}

TEST(HiddenProfiles, EqualTheirDefinitions) {
  ExpectHiddenDefinitions(RandomTape(5));
  for (const char* placement : {"pre", "post", "peri", "geo", "deep"}) {
    SCOPED_TRACE(placement);
    ExpectHiddenDefinitions(Forwarded(placement, AwkwardShape()).tape);
    ExpectHiddenDefinitions(Forwarded(placement).tape);
  }
}

// Linear interpolation between order statistics, as NumPy and PyTorch do by default.
double Percentile95(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double place = 0.95 * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

void ExpectArccosines(const Tape& tape) {
  const auto profiles = AngleProfiles(tape, 1);
  EXPECT_EQ(profiles[0].first_index, 1);
  for (size_t s = 1; s < tape.hidden.size(); ++s) {
    const Cube x(tape.hidden[s - 1]), y(tape.hidden[s]);
    std::vector<double> angles;
    for (int64_t i = 0; i < x.b; ++i) {
      for (int64_t j = 0; j < x.n; ++j) {
        double xx = 0, yy = 0, xy = 0;
        for (int64_t k = 0; k < x.d; ++k) {
          xx += x.At(i, j, k) * x.At(i, j, k);
          yy += y.At(i, j, k) * y.At(i, j, k);
          xy += x.At(i, j, k) * y.At(i, j, k);
        }
        angles.push_back(std::acos(xy / std::sqrt(xx * yy)));
      }
    }
    double mean = 0;
    for (const double angle : angles) mean += angle / static_cast<double>(angles.size());
    EXPECT_NEAR(Find(profiles, "angle")[s - 1], mean, 1e-12);
    EXPECT_NEAR(Find(profiles, "angle_p95")[s - 1], Percentile95(angles), 1e-12);
    EXPECT_NEAR(Find(profiles, "angle_max")[s - 1], *std::max_element(angles.begin(), angles.end()),
                1e-12);
  }
}

TEST(AngleProfiles, EqualTheArccosineWhereThatIsAccurate) {
  ExpectArccosines(RandomTape(3));
  for (const char* placement : {"pre", "post", "peri", "geo"}) {
    SCOPED_TRACE(placement);
    ExpectArccosines(Forwarded(placement, AwkwardShape()).tape);
  }
}

// Where the arccosine has lost every digit.
TEST(AngleProfiles, SmallAnglesKeepTheirDigits) {
  const at::Tensor x = at::tensor({1.0, 0.0}, at::kDouble).view({1, 2});
  const at::Tensor y = at::tensor({1.0, 1e-9}, at::kDouble).view({1, 2});
  EXPECT_NEAR(RowAngles(x, y)[0].item<double>(), 1e-9, 1e-17);
  EXPECT_NEAR(RowAngles(x, -x)[0].item<double>(), std::acos(-1.0), 1e-15);
  EXPECT_EQ(RowAngles(x, at::zeros_like(x))[0].item<double>(), std::acos(0.0));
}

double Rms(const at::Tensor& x) {
  return std::sqrt(x.to(at::kDouble).square().mean().item<double>());
}

TEST(BranchProfiles, AreTakenBeforeAndAfterTheOutputNorm) {
  for (const char* placement : {"pre", "peri", "post", "geo"}) {
    SCOPED_TRACE(placement);
    const Forwarded run(placement, AwkwardShape());
    const auto profiles = BranchProfiles(run.tape, 1);
    EXPECT_EQ(profiles[0].first_index, 1);
    for (size_t s = 0; s < run.tape.sublayers.size(); ++s) {
      EXPECT_NEAR(Find(profiles, "branch_rms")[s], Rms(run.tape.sublayers[s].raw), 1e-14);
      const double out = Rms(run.tape.sublayers[s].out);
      EXPECT_NEAR(Find(profiles, "branch_rms_out")[s], out, 1e-14);
      EXPECT_NEAR(Find(profiles, "branch_share")[s], out / Rms(run.tape.hidden[s]), 1e-12);
    }
  }
}

TEST(SphereProfiles, RawAngleIsTheStepThatTheStreamTakes) {
  const Forwarded run("geo");  // no clamp, exponential map: the raw angle is the angle taken
  const auto raw = SphereProfiles(run.model, run.tape, 1);
  const auto angle = AngleProfiles(run.tape, 1);
  for (size_t s = 0; s < run.tape.sublayers.size(); ++s) {
    EXPECT_NEAR(Find(raw, "theta_raw")[s], Find(angle, "angle")[s], 1e-12) << s;
    EXPECT_EQ(Find(raw, "theta_over_half_pi")[s], 0);
    EXPECT_GT(Find(raw, "tangential")[s], 0.5);
    EXPECT_LE(Find(raw, "tangential")[s], 1.0);
  }
  EXPECT_TRUE(SphereProfiles(Forwarded("pre").model, run.tape, 1).empty());
}

TEST(SphereProfiles, TangentialEqualsItsDefinition) {
  const Forwarded run("geo", AwkwardShape(), 4);
  const auto profiles = SphereProfiles(run.model, run.tape, 1);
  for (size_t s = 0; s < run.tape.sublayers.size(); ++s) {
    const Cube x(run.tape.hidden[s]), v(run.tape.sublayers[s].out);
    const double tokens = static_cast<double>(x.b * x.n);
    double share = 0, along = 0;
    for (int64_t i = 0; i < x.b; ++i) {
      for (int64_t j = 0; j < x.n; ++j) {
        double xx = 0, xv = 0, vv = 0, uu = 0;
        for (int64_t k = 0; k < x.d; ++k) {
          xx += x.At(i, j, k) * x.At(i, j, k);
          xv += x.At(i, j, k) * v.At(i, j, k);
          vv += v.At(i, j, k) * v.At(i, j, k);
        }
        for (int64_t k = 0; k < x.d; ++k) {
          uu += std::pow(v.At(i, j, k) - xv / xx * x.At(i, j, k), 2);
        }
        share += std::sqrt(uu / vv) / tokens;
        along += xv / xx / tokens;
      }
    }
    EXPECT_LT(share, 1 - 1e-6);
    EXPECT_NEAR(Find(profiles, "tangential")[s], share, 1e-12);
    EXPECT_NEAR(Find(profiles, "tangential_c")[s], along, 1e-12);
  }
}

TEST(SphereProfiles, CountsTokensThatWrap) {
  Forwarded run("geo");
  run.tape.sublayers[1].out = run.tape.sublayers[1].out * 1e6;
  const auto profiles = SphereProfiles(run.model, run.tape, 1);
  EXPECT_EQ(Find(profiles, "theta_over_pi")[1], 1.0);
  EXPECT_EQ(Find(profiles, "theta_over_pi")[0], 0.0);
}

TEST(PeriBound, HoldsAndIsTheStatedOne) {
  const Forwarded run("peri");
  const PeriBound bound = CheckPeriBound(run.model, run.tape, 1);
  EXPECT_TRUE(bound.violations.empty());
  const at::Tensor start = run.tape.hidden[0].flatten(1);
  const double entries = static_cast<double>(start.size(1));
  const at::Tensor norm = start.square().sum(1).sqrt();
  for (size_t s = 1; s < run.tape.hidden.size(); ++s) {
    const double steps = static_cast<double>(s);  // gains are 1, biases absent, Δt = 1
    EXPECT_EQ(Find(bound.profiles, "gain_max")[s - 1], 1.0);
    EXPECT_NEAR(Find(bound.profiles, "peri_ma_bound")[s - 1],
                (norm / std::sqrt(entries) + steps).mean().item<double>(), 1e-12);
    EXPECT_NEAR(
        Find(bound.profiles, "peri_var_bound")[s - 1],
        ((norm + steps * std::sqrt(entries)).square() / (entries - 1)).mean().item<double>(),
        1e-10);
    EXPECT_GT(Find(bound.profiles, "peri_ma_tightness")[s - 1], 0.0);
    EXPECT_LT(Find(bound.profiles, "peri_ma_tightness")[s - 1], 1.0);
  }
}

// Gains and biases of their own, Δt below 1, and bounds by sequence in plain loops.
TEST(PeriBound, FollowsGainsBiasesAndTheStep) {
  for (const Overrides& shape : {AwkwardShape(), Overrides{{"model.bias", "true"}}}) {
    Overrides overrides = shape;
    overrides.push_back({"residual.dt", "0.3"});
    Forwarded run("peri", overrides);
    run.parameters.values().uniform_(-2, 2, at::detail::createCPUGenerator(5));
    ForwardOptions options;
    options.tape = &run.tape;
    run.model.Forward(run.tokens, options);
    const PeriBound bound = CheckPeriBound(run.model, run.tape, 1);
    EXPECT_TRUE(bound.violations.empty());
    const Cube start(run.tape.hidden[0]);
    const double entries = static_cast<double>(start.n * start.d);
    double gain = 0;
    for (size_t s = 1; s < run.tape.hidden.size(); ++s) {
      const NormParams& norm = run.model.sublayer_params(static_cast<int64_t>(s) - 1).norm_out;
      gain = std::max(gain,
                      norm.gain.abs().max().item<double>() + norm.bias.abs().max().item<double>());
      EXPECT_EQ(Find(bound.profiles, "gain_max")[s - 1], gain);
      const double reach = static_cast<double>(s) * 0.3 * gain;
      const at::Tensor x = run.tape.hidden[s].detach();
      double ma_bound = 0, var_bound = 0, ma_share = 0, var_share = 0;
      for (int64_t b = 0; b < start.b; ++b) {
        const double norm0 = std::sqrt(start.data[b].square().sum().item<double>());
        const double ma = norm0 / std::sqrt(entries) + reach;
        const double var = std::pow(norm0 + std::sqrt(entries) * reach, 2) / (entries - 1);
        ma_bound += ma / static_cast<double>(start.b);
        var_bound += var / static_cast<double>(start.b);
        ma_share = std::max(ma_share, x[b].abs().mean().item<double>() / ma);
        const double mean = x[b].mean().item<double>();
        var_share =
            std::max(var_share, (x[b] - mean).square().sum().item<double>() / (entries - 1) / var);
      }
      EXPECT_NEAR(Find(bound.profiles, "peri_ma_bound")[s - 1], ma_bound, 1e-12 * ma_bound);
      EXPECT_NEAR(Find(bound.profiles, "peri_var_bound")[s - 1], var_bound, 1e-12 * var_bound);
      EXPECT_NEAR(Find(bound.profiles, "peri_ma_tightness")[s - 1], ma_share, 1e-12);
      EXPECT_NEAR(Find(bound.profiles, "peri_var_tightness")[s - 1], var_share, 1e-12);
    }
  }
}

// One sequence of three beyond its bound is a violation, even where the means are within theirs.
TEST(PeriBound, IsHeldAgainstEverySequence) {
  Forwarded run("peri");
  const auto before = CheckPeriBound(run.model, run.tape, 1);
  at::Tensor x = run.tape.hidden[1].detach().clone();
  x[1].mul_(1.5 / Find(before.profiles, "peri_ma_tightness")[0]);
  run.tape.hidden[1] = x;
  const PeriBound bound = CheckPeriBound(run.model, run.tape, 3);
  ASSERT_FALSE(bound.violations.empty());
  EXPECT_NE(bound.violations[0].detail_json.find("\"sublayer\":1"), std::string::npos);
}

TEST(PeriBound, ABrokenStreamIsAnEvent) {
  Forwarded run("peri");
  run.tape.hidden[2] = run.tape.hidden[2] * 100.0;
  const PeriBound bound = CheckPeriBound(run.model, run.tape, 7);
  ASSERT_EQ(bound.violations.size(), 2u);
  EXPECT_EQ(bound.violations[0].kind, "bound_violation");
  EXPECT_EQ(bound.violations[0].step, 7);
  EXPECT_NE(bound.violations[0].detail_json.find("\"sublayer\":2"), std::string::npos);
}

TEST(PeriBound, SaysNothingAboutOtherPlacements) {
  for (const char* placement : {"pre", "post", "geo", "layerscale"}) {
    const Forwarded run(placement);
    EXPECT_TRUE(CheckPeriBound(run.model, run.tape, 1).profiles.empty()) << placement;
  }
}

}  // namespace
}  // namespace normlab::model
