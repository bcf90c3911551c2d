// What our operations are measured against: the same mathematics in LibTorch's own operations.
#ifndef NORMLAB_TESTS_KERNELS_BENCH_TORCH_PEERS_H_
#define NORMLAB_TESTS_KERNELS_BENCH_TORCH_PEERS_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace normlab::kernels {

// GeoNorm composed of tensor operations, differentiable by autograd.
at::Tensor ComposedGeoNorm(const at::Tensor& x, const at::Tensor& v, double alpha);

// A leaf that wants a gradient, of normal random numbers.
at::Tensor RandomLeaf(const std::vector<int64_t>& sizes, at::ScalarType type);

// Runs `make` and the backward pass from its result with the upstream gradient g to the leaves.
std::function<void()> BothWays(std::function<at::Tensor()> make, std::vector<at::Tensor> leaves,
                               at::Tensor g);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_BENCH_TORCH_PEERS_H_
