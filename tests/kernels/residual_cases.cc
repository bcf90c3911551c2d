#include "tests/kernels/residual_cases.h"

#include <cmath>
#include <sstream>

namespace normlab::kernels {
namespace {

using reference::Vector;

constexpr NormChoice kNone = NormChoice::kNone, kLayer = NormChoice::kLayerNorm,
                     kRms = NormChoice::kRmsNorm, kPlain = NormChoice::kPlainRmsNorm;

HostMatrix Parameter(normlab_dtype stream, std::int64_t cols, std::mt19937_64& random,
                     double shift) {
  HostMatrix result(stream == NORMLAB_F64 ? NORMLAB_F64 : NORMLAB_F32, 1, cols);
  std::normal_distribution<double> normal;
  for (std::int64_t c = 0; c < cols; ++c) result.Set(0, c, shift + 0.5 * normal(random));
  return result;
}

void Shape(ResidualRegime regime, Vector& x, Vector& g) {
  const auto scale = [](Vector& values, long double by) {
    for (long double& entry : values) entry *= by;
  };
  switch (regime) {
    case ResidualRegime::kTiny:
      return scale(x, 1e-18L), scale(g, 1e-18L);
    case ResidualRegime::kHuge:
      return scale(x, 1e18L), scale(g, 1e18L);
    case ResidualRegime::kSubnormal:
      return scale(x, 1e-39L), scale(g, 1e-39L);
    case ResidualRegime::kCancelling:
      g = x;
      return scale(g, -1);
    case ResidualRegime::kBranchZero:
      return scale(g, 0);
    case ResidualRegime::kZeroRow:
      return scale(x, 0), scale(g, 0);
    case ResidualRegime::kShifted:
      for (long double& entry : x) entry += 30;
      return;
    case ResidualRegime::kRandom:
    case ResidualRegime::kCount:
      return;
  }
}

}  // namespace

std::string Name(ResidualRegime regime) {
  static const char* const kNames[] = {"random",     "tiny",     "huge",     "subnormal",
                                       "cancelling", "branch 0", "zero row", "shifted"};
  return kNames[static_cast<int>(regime)];
}

std::string Name(const FormChoice& choice) {
  static const char* const kNames[] = {"-", "layernorm", "rmsnorm", "rmsnorm without gain"};
  std::ostringstream text;
  text << "a " << choice.a << " b " << choice.b << (choice.columns ? " by column" : "")
       << " branch " << kNames[static_cast<int>(choice.branch)] << " post "
       << kNames[static_cast<int>(choice.post)] << " next " << kNames[static_cast<int>(choice.next)]
       << " pb_relax " << choice.pb_relax;
  if (choice.learned_b.has_value()) text << " learned b " << *choice.learned_b;
  return text.str();
}

const std::vector<FormChoice>& FormChoices() {
  static const std::vector<FormChoice> choices = {
      {1, 1, false, kNone, kNone, kNone},
      {1, 1, false, kNone, kNone, kLayer},
      {1, 1, false, kNone, kNone, kRms},
      {1.3, 0.4, false, kNone, kNone, kPlain},
      {1, 0.7, true, kNone, kNone, kLayer},
      {1, 1, false, kNone, kLayer, kNone},
      {2.5, 1, false, kNone, kRms, kRms},
      {1, 0.5, true, kNone, kPlain, kNone},
      {1, 1, false, kRms, kNone, kNone},
      {1, 1, false, kLayer, kNone, kLayer},
      {1, 0.3, true, kPlain, kNone, kRms, 1},
      {1, 1, false, kLayer, kLayer, kLayer},
      {0.8, 1.2, true, kRms, kRms, kNone},
      {1, 1, false, kNone, kLayer, kRms, 1},
      {1, 0.5, false, kNone, kNone, kLayer, 0, 1e-5, 1.75},
      {1, 0.75, false, kNone, kRms, kNone, 0, 1e-5, -0.625},
      {1.5, 2, true, kLayer, kNone, kRms, 0, 1e-5, 0.375},
      {1, 1, false, kRms, kLayer, kNone, 0, 1e-5, 0.0},
  };
  return choices;
}

TestForm::TestForm(const FormChoice& choice, TypePair types, std::int64_t rows, std::int64_t cols)
    : choice_(choice) {
  std::mt19937_64 random(11);
  form_.a = choice.a;
  form_.b = choice.b;
  reference_.a = choice.a;
  reference_.b = choice.b * choice.learned_b.value_or(1);
  parameters_.reserve(7);  // views point into them
  if (choice.columns) {
    parameters_.push_back(Parameter(types.stream, cols, random, 1));
    form_.b_columns = parameters_.back().View().data;
    reference_.columns = parameters_.back().Row(0);
  }
  const NormChoice choices[3] = {choice.branch, choice.post, choice.next};
  normlab_norm_stage* stages[3] = {&form_.branch, &form_.post, &form_.next};
  reference::ResidualStage* references[3] = {&reference_.branch, &reference_.post,
                                             &reference_.next};
  gradients_.assign(6, Parameter(types.stream, cols, random, 0));
  saved_.assign(3, std::vector<double>(static_cast<std::size_t>(2 * rows + 1)));
  for (std::size_t k = 0; k < 3; ++k) {
    if (choices[k] == kNone) continue;
    stages[k]->present = 1;
    references[k]->present = true;
    stages[k]->options = {choices[k] == kLayer ? NORMLAB_LAYERNORM : NORMLAB_RMSNORM, choice.eps,
                          choice.pb_relax};
    references[k]->options = stages[k]->options;
    stages[k]->saved = saved_[k].data();
    if (!HasParameters(k)) continue;
    parameters_.push_back(Parameter(types.stream, cols, random, 1));
    stages[k]->gain = parameters_.back().View().data;
    references[k]->gain = parameters_.back().Row(0);
    parameters_.push_back(Parameter(types.stream, cols, random, 0));
    stages[k]->bias = parameters_.back().View().data;
    references[k]->bias = parameters_.back().Row(0);
    stages[k]->dgain = gradients_[2 * k].View().data;
    stages[k]->dbias = gradients_[2 * k + 1].View().data;
  }
}

bool TestForm::HasParameters(std::size_t stage) const {
  const NormChoice choices[3] = {choice_.branch, choice_.post, choice_.next};
  return choices[stage] == kLayer || choices[stage] == kRms;
}

ResidualInputs::ResidualInputs(TypePair types, std::int64_t rows, std::int64_t cols,
                               std::int64_t gap)
    : x(types.stream, rows, cols, gap),
      g(types.branch, rows, cols, gap),
      dstream(types.stream, rows, cols, gap),
      dnext(types.branch, rows, cols, gap) {}

ResidualInputs OneRow(const ResidualInputs& in, std::int64_t row) {
  ResidualInputs alone({in.x.dtype(), in.g.dtype()}, 1, in.x.cols());
  for (std::int64_t c = 0; c < in.x.cols(); ++c) {
    alone.x.Set(0, c, in.x.Get(row, c));
    alone.g.Set(0, c, in.g.Get(row, c));
    alone.dstream.Set(0, c, in.dstream.Get(row, c));
    alone.dnext.Set(0, c, in.dnext.Get(row, c));
  }
  return alone;
}

ResidualInputs MakeResidualInputs(TypePair types, std::int64_t rows, std::int64_t cols,
                                  std::uint64_t seed, std::int64_t gap) {
  ResidualInputs inputs(types, rows, cols, gap);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto width = static_cast<std::size_t>(cols);
  HostMatrix rounded(types.branch, 1, cols);
  Vector x(width), g(width);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < width; ++c) {
      // Rows that cancel must do so after rounding, so they are made of rounded numbers.
      rounded.Set(0, static_cast<std::int64_t>(c), normal(random));
      x[c] = rounded.Get(0, static_cast<std::int64_t>(c));
      g[c] = normal(random);
    }
    Shape(static_cast<ResidualRegime>(r % static_cast<int>(ResidualRegime::kCount)), x, g);
    for (std::int64_t c = 0; c < cols; ++c) {
      inputs.x.Set(r, c, static_cast<double>(x[static_cast<std::size_t>(c)]));
      inputs.g.Set(r, c, static_cast<double>(g[static_cast<std::size_t>(c)]));
      inputs.dstream.Set(r, c, normal(random));
      inputs.dnext.Set(r, c, normal(random));
    }
  }
  return inputs;
}

}  // namespace normlab::kernels
