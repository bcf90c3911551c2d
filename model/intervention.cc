#include "model/intervention.h"

#include <ATen/ATen.h>

#include <cmath>

#include "model/probes/sensitivity.h"

namespace normlab::model {
namespace {

constexpr size_t kFactors = kInterventionFactors.size();

double Slope(const std::array<double, kFactors>& sigma) {
  double mean_c = 0, mean_sigma = 0, product = 0, square = 0;
  for (size_t i = 0; i < kFactors; ++i) {
    mean_c += std::log(kInterventionFactors[i]) / kFactors;
    mean_sigma += std::log(sigma[i]) / kFactors;
  }
  for (size_t i = 0; i < kFactors; ++i) {
    const double c = std::log(kInterventionFactors[i]) - mean_c;
    product += c * (std::log(sigma[i]) - mean_sigma);
    square += c * c;
  }
  return product / square;
}

SublayerParams WithScaledProjection(SublayerParams params, double factor) {
  params.second.weight = params.second.weight * factor;
  if (params.second.bias.defined()) params.second.bias = params.second.bias * factor;
  return params;
}

}  // namespace

std::vector<Intervention> ScaleOutputProjections(const ModelSpec& spec,
                                                 const Parameters& parameters,
                                                 const at::Tensor& tokens, int64_t step) {
  const at::NoGradGuard no_grad;
  const Transformer model = DifferentiableTwice(spec, parameters);
  Tape tape;
  ForwardOptions forward;
  forward.attention = AttentionPath::kMath;
  forward.step = step;
  forward.tape = &tape;
  model.Forward(tokens, forward);
  forward.tape = nullptr;
  std::vector<Intervention> out;
  for (int64_t s = 0; s < static_cast<int64_t>(spec.sublayers.size()); ++s) {
    Intervention result{s + 1, spec.sublayers[s].branch};
    std::vector<at::Tensor> forms;
    for (const double factor : kInterventionFactors) {
      const SublayerParams params = WithScaledProjection(model.sublayer_params(s), factor);
      forms.push_back(BidiagonalJacobian(
          [&](const at::Tensor& x) { return model.BranchWith(params, s, x, forward); },
          tape.hidden[s], spec.init.seed, kInterventionIterations));
    }
    const at::Tensor sigma = LargestSingularValue(at::stack(forms)).mean(1).contiguous();
    std::copy_n(sigma.const_data_ptr<double>(), kFactors, result.sigma_max.begin());
    result.slope = Slope(result.sigma_max);
    out.push_back(result);
  }
  return out;
}

}  // namespace normlab::model
