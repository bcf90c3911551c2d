// Between LibTorch's tensors and the C interface; for the registration files only.
#ifndef NORMLAB_KERNELS_TORCH_TENSOR_ACCESS_H_
#define NORMLAB_KERNELS_TORCH_TENSOR_ACCESS_H_

#include <ATen/core/Tensor.h>

#include <optional>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// A contiguous (..., D) tensor as a matrix of D columns; throws c10::Error, naming `name`, where it
// is not contiguous or of a type that the kernels do not know.
normlab_matrix AsMatrix(const char* name, const at::Tensor& tensor);

// The same faults without looking at the data, so also for tensors that have none.
void CheckLayout(const char* name, const at::Tensor& tensor);

// Throws c10::Error naming both shapes, or both devices, unless they are the same.
void CheckSameSizes(const char* name, const at::Tensor& one, const char* other_name,
                    const at::Tensor& other);

// Throws c10::Error unless `tensor` is undefined or on the device of `stream`.
void CheckSameDevice(const char* name, const at::Tensor& tensor, const at::Tensor& stream);

// Throws c10::Error unless `probes` is undefined, or holds the numbers of every row of `stream`.
void CheckProbes(const at::Tensor& probes, const at::Tensor& stream);

// Type of statistics, gains and biases that goes with a stream.
at::ScalarType RealType(const at::Tensor& stream);

// Memory for a result with the shape of `like`, and its type or another one.
at::Tensor EmptyResult(const at::Tensor& like);
at::Tensor EmptyResult(const at::Tensor& like, at::ScalarType type);

// Throws c10::Error unless `parameter` is undefined, or [D] on the device of `stream`.
void CheckParameter(const char* name, const at::Tensor& parameter, const at::Tensor& stream);

// Throws c10::Error unless `number` is undefined, or one element on the device of `stream`.
void CheckNumber(const char* name, const at::Tensor& number, const at::Tensor& stream);

// Such a parameter, contiguous, in the Real type; undefined stays undefined.
at::Tensor AsParameter(const char* name, const at::Tensor& parameter, const at::Tensor& stream);

// Outputs: Real[rows, count] of a stream's rows, and what a parameter's gradient is put into.
at::Tensor EmptyRowNumbers(const at::Tensor& stream, std::int64_t count);
at::Tensor EmptyGradient(const at::Tensor& parameter);

// What the kernels write a parameter's gradient into, `output` itself where they can, and the way
// from there to `output`.
at::Tensor RealGradient(const at::Tensor& output, const at::Tensor& stream);
void TakeGradient(const at::Tensor& real, const at::Tensor& output);

// An input of an autograd node that may be absent: nodes take only optionals that way.
std::optional<at::Tensor> AsOptional(const at::Tensor& tensor);
at::Tensor OrUndefined(const std::optional<at::Tensor>& tensor);

// Null for an undefined tensor.
void* DataOrNull(const at::Tensor& tensor);

// Throws c10::Error with normlab_last_error() unless `code` is NORMLAB_OK.
void ThrowUnlessOk(int code);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_TENSOR_ACCESS_H_
