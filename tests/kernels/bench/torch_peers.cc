#include "tests/kernels/bench/torch_peers.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

namespace normlab::kernels {

at::Tensor ComposedGeoNorm(const at::Tensor& x, const at::Tensor& v, double alpha) {
  const at::Tensor square = x.square().sum(-1, true);
  const at::Tensor u = v - (x * v).sum(-1, true) / square * x;
  const at::Tensor radius = square.sqrt();
  const at::Tensor size = u.square().sum(-1, true).sqrt();
  const at::Tensor theta = alpha * size / radius;
  return theta.cos() * x + radius * theta.sin() * (u / size);
}

at::Tensor RandomLeaf(const std::vector<int64_t>& sizes, at::ScalarType type) {
  return at::randn(sizes).to(type).set_requires_grad(true);
}

Computation ForwardOnly(std::function<at::Tensor()> make) {
  return [make = std::move(make)] {
    const c10::NoGradGuard no_grad;
    return std::vector{make()};
  };
}

Computation BothWays(std::function<at::Tensor()> make, std::vector<at::Tensor> leaves,
                     at::Tensor g) {
  return [make = std::move(make), leaves = std::move(leaves), g = std::move(g)] {
    const at::Tensor result = make();
    std::vector<at::Tensor> outputs = torch::autograd::grad({result}, leaves, {g});
    outputs.push_back(result);
    return outputs;
  };
}

namespace {

// How far apart two right results may be, in their length; the last of a computation's outputs has
// all rows. PyTorch adds the rows of a gain's gradient up in bf16, and that sum walks away: 0.08 at
// 8192 rows.
double MostApart(const at::Tensor& output, const at::Tensor& last) {
  if (output.scalar_type() == at::kFloat) return 1e-5;
  const auto rows = static_cast<double>(last.numel() / output.numel());
  return std::max(2e-2, std::sqrt(rows) / 512);
}

}  // namespace

std::optional<std::string> Difference(const std::vector<at::Tensor>& ours,
                                      const std::vector<at::Tensor>& peer) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const at::Tensor one = ours[i].detach().to(at::kDouble);
    const at::Tensor other = peer[i].detach().to(at::kDouble);
    const double apart = ((one - other).norm() / other.norm()).item<double>();
    const double most = MostApart(ours[i], ours.back());
    if (apart <= most) continue;
    return "output " + std::to_string(i) + " is " + std::to_string(apart) +
           " of its length away from the peer's, and " + std::to_string(most) + " is the most";
  }
  return std::nullopt;
}

}  // namespace normlab::kernels
