#include "tests/kernels/bench/torch_peers.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

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

std::function<void()> BothWays(std::function<at::Tensor()> make, std::vector<at::Tensor> leaves,
                               at::Tensor g) {
  return [make = std::move(make), leaves = std::move(leaves), g = std::move(g)] {
    torch::autograd::grad({make()}, leaves, {g});
  };
}

}  // namespace normlab::kernels
