// Norms composed of ATen operations: the reference path, on every device and dtype.
#ifndef NORMLAB_MODEL_NORM_H_
#define NORMLAB_MODEL_NORM_H_

#include <ATen/core/Tensor.h>

#include "model/model_spec.h"

namespace normlab::model {

// (x − mean)/√(var + eps)·gain + bias with the biased variance, or x/√(mean x² + eps)·gain.
// Undefined gain or bias stand for ones and zeros. With pb_relax each row is first divided by
// max|x|/8, through which no gradient flows; a zero row stays as it is.
at::Tensor ComposedNorm(const NormSpec& spec, const at::Tensor& x, const at::Tensor& gain,
                        const at::Tensor& bias);

// x·√d/‖x‖ by rows: the embedding of a sphere model lives on radius √d. A zero row stays, and its
// gradient passes as it is.
at::Tensor OntoSphere(const at::Tensor& x);

// u − (⟨x,u⟩/‖x‖²)·x by rows; a row with x = 0 gives u.
at::Tensor OrthogonalPart(const at::Tensor& x, const at::Tensor& u);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_NORM_H_
