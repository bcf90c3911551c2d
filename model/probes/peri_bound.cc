#include "model/probes/peri_bound.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "model/probes/profile.h"

namespace normlab::model {
namespace {

bool Applies(const ModelSpec& spec) {
  return std::all_of(spec.sublayers.begin(), spec.sublayers.end(), [](const SublayerSpec& s) {
    return s.norm_out && s.combine == Combine::kPlain && s.scale == BranchScale::kOne && s.a == 1;
  });
}

// Rounding of the stream's dtype, over as many additions as there are sublayers.
double Tolerance(Precision precision) {
  switch (precision) {
    case Precision::kFp64:
      return 1e-12;
    case Precision::kFp32:
      return 1e-5;
    case Precision::kBf16:
      return 1e-2;
  }
  return 0;
}

// max|γ| + max|β| of one output norm, a scalar in fp64.
at::Tensor GainOf(const NormParams& norm, const at::TensorOptions& options) {
  if (!norm.gain.defined()) return at::ones({}, options);
  at::Tensor sum = norm.gain.to(at::kDouble).abs().max();
  if (norm.bias.defined()) sum = sum + norm.bias.to(at::kDouble).abs().max();
  return sum;
}

EventRecord Violation(int64_t step, const char* quantity, size_t sublayer, double share) {
  const nlohmann::json detail = {
      {"quantity", quantity}, {"sublayer", sublayer}, {"share_of_bound", NumberOrMarker(share)}};
  return {step, "bound_violation", DumpStrict(detail)};
}

}  // namespace

PeriBound CheckPeriBound(const Transformer& model, const Tape& tape, int64_t step) {
  const ModelSpec& spec = model.spec();
  if (!Applies(spec)) return {};
  const at::NoGradGuard no_grad;
  const at::Tensor start = tape.hidden[0].to(at::kDouble).flatten(1);  // [B, n·d]
  const double entries = static_cast<double>(start.size(1));
  const at::Tensor frobenius = start.square().sum(1).sqrt();  // [B]
  at::Tensor gain = at::zeros({}, start.options());
  std::vector<at::Tensor> rows;
  for (size_t s = 1; s < tape.hidden.size(); ++s) {
    const int64_t index = static_cast<int64_t>(s) - 1;
    gain = at::maximum(gain, GainOf(model.sublayer_params(index).norm_out, start.options()));
    // What the branches up to here may have added to an entry, in the mean.
    const at::Tensor reach = static_cast<double>(s) * std::abs(spec.sublayers[index].b) * gain;
    const at::Tensor x = tape.hidden[s].to(at::kDouble).flatten(1);
    const at::Tensor ma_bound = frobenius / std::sqrt(entries) + reach;
    const at::Tensor var_bound = (frobenius + std::sqrt(entries) * reach).square() / (entries - 1);
    rows.push_back(
        at::stack({gain, ma_bound.mean(), var_bound.mean(), (x.abs().mean(1) / ma_bound).max(),
                   (x.var(1, /*unbiased=*/true) / var_bound).max()}));
  }
  PeriBound out;
  out.profiles = MakeProfiles(
      {"gain_max", "peri_ma_bound", "peri_var_bound", "peri_ma_tightness", "peri_var_tightness"},
      rows, step, 1);
  const double limit = 1.0 + Tolerance(spec.precision);
  for (size_t s = 1; s < tape.hidden.size(); ++s) {
    const double ma = out.profiles[3].values[s - 1];
    const double var = out.profiles[4].values[s - 1];
    if (ma > limit) out.violations.push_back(Violation(step, "hidden_ma", s, ma));
    if (var > limit) out.violations.push_back(Violation(step, "hidden_var", s, var));
  }
  return out;
}

}  // namespace normlab::model
