// Matrix products in the run's compute dtype. Under bf16 they read the bf16 copies of the weights;
// gradients go to the fp32 masters. No autocast: what is computed in which dtype stands in the
// code.
#ifndef NORMLAB_MODEL_LINEAR_H_
#define NORMLAB_MODEL_LINEAR_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "model/model_spec.h"
#include "model/parameters.h"

namespace normlab::model {

struct LinearParams {
  at::Tensor weight, bias;                // [out, in]; [out] or undefined
  at::Tensor weight_shadow, bias_shadow;  // their bf16 copies; undefined unless bf16
};

// The parameters NAME.weight and NAME.bias; the copies too when the model is to compute in bf16.
LinearParams BindLinear(const ModelSpec& spec, const Parameters& parameters,
                        const std::string& name);

// x·Wᵀ + bias, in the dtype of the weights, or in bf16 (with fp32 accumulation) where there are
// bf16 copies: x is rounded to bf16 then, and so is the result.
at::Tensor Linear(const LinearParams& params, const at::Tensor& x);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_LINEAR_H_
