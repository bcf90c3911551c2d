#include "model/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

namespace normlab::model {
namespace {

constexpr double kClipSlack = 1e-6;

}  // namespace

AdamW::AdamW(const AdamWOptions& options, Parameters& parameters)
    : options_(options),
      parameters_(parameters),
      m_(at::zeros_like(parameters.values())),
      v_(at::zeros_like(parameters.values())) {}

void AdamW::Step(int64_t step, double lr) {
  const at::NoGradGuard no_grad;
  const int64_t decayed = parameters_.decayed();
  const int64_t total = m_.numel();
  const at::Tensor count = at::full({}, static_cast<double>(step), m_.options().dtype(at::kFloat));
  const auto update = [&](int64_t begin, int64_t end, double weight_decay) {
    if (begin == end) return;
    const int64_t size = end - begin;
    at::_fused_adamw_({parameters_.values().narrow(0, begin, size)},
                      {parameters_.grads().narrow(0, begin, size)}, {m_.narrow(0, begin, size)},
                      {v_.narrow(0, begin, size)}, {}, {count}, lr, options_.beta1, options_.beta2,
                      weight_decay, options_.eps, /*amsgrad=*/false, /*maximize=*/false);
  };
  update(0, decayed, options_.weight_decay);
  update(decayed, total, 0.0);
  parameters_.RefreshShadows();
}

double GradNorm(const Parameters& parameters) {
  return at::linalg_vector_norm(parameters.grads(), 2, {}, false, at::kDouble).item<double>();
}

double ClipCoefficient(double norm, double max_norm) {
  if (max_norm <= 0) return 1.0;
  // A NaN norm must reach the weights as it would in PyTorch; std::min would turn it into 1.
  const double ratio = max_norm / (norm + kClipSlack);
  return ratio > 1.0 ? 1.0 : ratio;
}

double ClipGradients(Parameters& parameters, double norm, double max_norm) {
  const double coefficient = ClipCoefficient(norm, max_norm);
  if (coefficient != 1.0) parameters.grads().detach().mul_(coefficient);
  return coefficient;
}

}  // namespace normlab::model
