// How strongly a sublayer's branch answers to its input (Stability paper, sections 3 and 4):
//   sensitivity   σ_max(∂[N_out(f(N_in(x)))]/∂x), without a, b and Δt, x one sequence [T, d]; the
//                 mean over sequences; entry s − 1 is sublayer s
//
// From products with the Jacobian J and its transpose only: the power iteration v ← JᵀJv, whose
// vectors are kept and made orthogonal (Golub and Kahan's bidiagonalisation), so that a few
// iterations give what the bare iteration needs hundreds for. The number of iterations is fixed and
// nothing comes back from the device in between.
//
// Jᵀu is a backward pass; Jv is a backward pass through that backward pass, which is linear in u.
// Our own fused backward passes have no derivative, so that the branch is computed on the composed
// path with the plain attention, in fp64 for fp64 runs and in fp32 from the master weights for all
// others.
#ifndef NORMLAB_MODEL_PROBES_SENSITIVITY_H_
#define NORMLAB_MODEL_PROBES_SENSITIVITY_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/record.h"
#include "model/transformer.h"

namespace normlab::model {

// While training: an estimate to half a per cent, on the first sequences of the evaluation.
inline constexpr int64_t kSensitivityIterations = 16;
inline constexpr int64_t kSensitivitySequences = 1;

// The model as this probe sees it. Keeps references to the parameters' tensors.
Transformer DifferentiableTwice(const ModelSpec& spec, const Parameters& parameters);

// The bidiagonal form of J at x [B, T, d], by sequence: [B, k, k] in fp64 on x's device, with k =
// min(iterations, T·d). `branch` maps [B, T, d] to [B, T, d], each sequence for itself, and is
// differentiable twice. The start vector is drawn by counter from `seed`.
at::Tensor BidiagonalJacobian(const std::function<at::Tensor(const at::Tensor&)>& branch,
                              const at::Tensor& x, uint64_t seed, int64_t iterations);

// Largest singular values of matrices [..., k, k], as [...] on the CPU; NaN where an entry is not
// finite.
at::Tensor LargestSingularValue(const at::Tensor& matrices);

// `tape` holds the hidden states of an evaluation batch.
std::vector<ProfileRecord> SensitivityProfiles(const ModelSpec& spec, const Parameters& parameters,
                                               const Tape& tape, int64_t step);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_SENSITIVITY_H_
