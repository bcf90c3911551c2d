// What our operations are measured against: the same mathematics in LibTorch's own operations.
#ifndef NORMLAB_TESTS_KERNELS_BENCH_TORCH_PEERS_H_
#define NORMLAB_TESTS_KERNELS_BENCH_TORCH_PEERS_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace normlab::kernels {

// GeoNorm composed of tensor operations, differentiable by autograd.
at::Tensor ComposedGeoNorm(const at::Tensor& x, const at::Tensor& v, double alpha);

// A leaf that wants a gradient, of normal random numbers.
at::Tensor RandomLeaf(const std::vector<int64_t>& sizes, at::ScalarType type);

// What is timed, with what comes out of it.
using Computation = std::function<std::vector<at::Tensor>()>;

// The result of `make` alone, without gradients.
Computation ForwardOnly(std::function<at::Tensor()> make);
// Runs `make` and the backward pass from its result with the upstream gradient g to the leaves: the
// result and their gradients.
Computation BothWays(std::function<at::Tensor()> make, std::vector<at::Tensor> leaves,
                     at::Tensor g);

// Nothing where both compute the same, to the rounding of the storage type and of a composition in
// that type; else a sentence with the distance.
std::optional<std::string> Difference(const std::vector<at::Tensor>& ours,
                                      const std::vector<at::Tensor>& peer);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_BENCH_TORCH_PEERS_H_
