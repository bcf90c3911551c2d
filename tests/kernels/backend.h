// Where the kernels under test run. Every correctness test goes through a Backend, so that the
// same tests judge each CPU instruction set, the CUDA kernels under the SIMT harness, and the CUDA
// kernels on a GPU.
#ifndef NORMLAB_TESTS_KERNELS_BACKEND_H_
#define NORMLAB_TESTS_KERNELS_BACKEND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// Numbers of an operation that are learned: they win over those of the options (scale, bias), or
// multiply that of the form (b). A device reads them from its own memory.
struct LearnedNumbers {
  std::optional<double> scale = {}, bias = {};
};
inline normlab_geonorm_options WithNumbers(normlab_geonorm_options options,
                                           const LearnedNumbers& learned) {
  options.scale = learned.scale.value_or(options.scale);
  options.bias = learned.bias.value_or(options.bias);
  return options;
}

// Functions take arguments in host memory and return the code of the C interface.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string Name() const = 0;
  // The most elements of a matrix that a test should use here (SIMT runs thread by thread).
  virtual std::int64_t MostElements() const { return std::int64_t{1} << 34; }

  virtual int GeoNormForward(const normlab_geonorm_options& options,
                             const normlab_geonorm_forward_args& args,
                             const LearnedNumbers& learned) = 0;
  virtual int GeoNormBackward(const normlab_geonorm_options& options,
                              const normlab_geonorm_backward_args& args,
                              const LearnedNumbers& learned) = 0;
  virtual int NormForward(const normlab_norm_options& options,
                          const normlab_norm_forward_args& args) = 0;
  // Fills in the workspace itself.
  virtual int NormBackward(const normlab_norm_options& options,
                           normlab_norm_backward_args args) = 0;
  virtual int ResidualForward(const normlab_residual_form& form,
                              const normlab_residual_forward_args& args,
                              std::optional<double> learned_b) = 0;
  // Fills in the workspace itself.
  virtual int ResidualBackward(const normlab_residual_form& form,
                               normlab_residual_backward_args args,
                               std::optional<double> learned_b) = 0;

  // Without learned numbers.
  int GeoNormForward(const normlab_geonorm_options& options,
                     const normlab_geonorm_forward_args& args) {
    return GeoNormForward(options, args, LearnedNumbers{});
  }
  int GeoNormBackward(const normlab_geonorm_options& options,
                      const normlab_geonorm_backward_args& args) {
    return GeoNormBackward(options, args, LearnedNumbers{});
  }
  int ResidualForward(const normlab_residual_form& form,
                      const normlab_residual_forward_args& args) {
    return ResidualForward(form, args, std::nullopt);
  }
  int ResidualBackward(const normlab_residual_form& form,
                       const normlab_residual_backward_args& args) {
    return ResidualBackward(form, args, std::nullopt);
  }
};

// The backends that this program tests, by name: one program has those that need no device, the
// other (label `gpu`) has CUDA.
std::vector<std::string> BackendNames();
std::unique_ptr<Backend> MakeBackend(const std::string& name);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_BACKEND_H_
