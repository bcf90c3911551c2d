#include "kernels/torch/tensor_access.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <cstdint>

namespace normlab::kernels {
namespace {

normlab_dtype AsDtype(const char* name, const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return NORMLAB_F32;
    case at::kDouble:
      return NORMLAB_F64;
    case at::kBFloat16:
      return NORMLAB_BF16;
    default:
      TORCH_CHECK(false, name, " of shape ", tensor.sym_sizes(), " is ", tensor.scalar_type(),
                  "; the kernels take float32, float64 and bfloat16");
  }
}

// From this size on the C library gets memory afresh from the kernel, whose handing it over page by
// page takes several times as long as a norm that fills it.
constexpr std::uintptr_t kFreshBytes = std::uintptr_t{32} << 20;

// Asks for pages of 2 MiB. A wish: where it is not granted, nothing changes.
void WishForHugePages(const at::Tensor& tensor) {
  constexpr std::uintptr_t kPage = 4096;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(tensor.data_ptr());
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (begin + tensor.nbytes()) / kPage * kPage;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace

at::Tensor EmptyResult(const at::Tensor& like) { return EmptyResult(like, like.scalar_type()); }

at::Tensor EmptyResult(const at::Tensor& like, at::ScalarType type) {
  at::Tensor result = at::empty_like(like, like.options().dtype(type));
  if (result.is_cpu() && result.nbytes() >= kFreshBytes) WishForHugePages(result);
  return result;
}

void CheckLayout(const char* name, const at::Tensor& tensor) {
  TORCH_CHECK(tensor.defined() && tensor.dim() >= 1, name, " must have at least one dimension");
  TORCH_CHECK(tensor.is_contiguous(), name, " of shape ", tensor.sym_sizes(),
              " is not contiguous (strides ", tensor.sym_strides(), ")");
  TORCH_CHECK(tensor.sym_size(-1) > 0, name, " of shape ", tensor.sym_sizes(), " has no columns");
  AsDtype(name, tensor);
}

normlab_matrix AsMatrix(const char* name, const at::Tensor& tensor) {
  CheckLayout(name, tensor);
  const std::int64_t cols = tensor.size(-1);
  return {tensor.data_ptr(), tensor.numel() / cols, cols, cols, AsDtype(name, tensor)};
}

void CheckSameSizes(const char* name, const at::Tensor& one, const char* other_name,
                    const at::Tensor& other) {
  TORCH_CHECK(one.sym_sizes() == other.sym_sizes(), name, " has the shape ", one.sym_sizes(),
              ", but ", other_name, " has the shape ", other.sym_sizes());
  TORCH_CHECK(one.device() == other.device(), name, " is on ", one.device(), ", but ", other_name,
              " is on ", other.device());
}

void CheckSameDevice(const char* name, const at::Tensor& tensor, const at::Tensor& stream) {
  TORCH_CHECK(!tensor.defined() || tensor.device() == stream.device(), name, " is on ",
              tensor.device(), ", but x is on ", stream.device());
}

at::ScalarType RealType(const at::Tensor& stream) {
  return stream.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

void CheckProbes(const at::Tensor& probes, const at::Tensor& stream) {
  if (!probes.defined()) return;
  CheckSameDevice("probes", probes, stream);
  const std::int64_t rows = stream.numel() / stream.size(-1);
  const auto sizes = {rows, std::int64_t{NORMLAB_ROW_PROBES}};
  TORCH_CHECK(
      probes.scalar_type() == RealType(stream) && probes.sizes() == sizes && probes.is_contiguous(),
      "probes must be ", RealType(stream), " of shape ", at::IntArrayRef(sizes),
      " and contiguous, not ", probes.scalar_type(), " of shape ", probes.sizes(), " with strides ",
      probes.strides());
}

void CheckParameter(const char* name, const at::Tensor& parameter, const at::Tensor& stream) {
  if (!parameter.defined()) return;
  TORCH_CHECK(parameter.dim() == 1 && parameter.sym_size(0) == stream.sym_size(-1), name,
              " has the shape ", parameter.sym_sizes(), ", but x has the shape ",
              stream.sym_sizes());
  CheckSameDevice(name, parameter, stream);
}

void CheckNumber(const char* name, const at::Tensor& number, const at::Tensor& stream) {
  if (!number.defined()) return;
  TORCH_CHECK(number.sym_numel() == 1, name, " has the shape ", number.sym_sizes(),
              "; it must be one number");
  CheckSameDevice(name, number, stream);
}

at::Tensor AsParameter(const char* name, const at::Tensor& parameter, const at::Tensor& stream) {
  CheckParameter(name, parameter, stream);
  if (!parameter.defined()) return parameter;
  at::Tensor result = parameter.detach().to(RealType(stream)).contiguous();
  // CUDA kernels read 16 bytes at a time; a slice of a larger buffer may start anywhere.
  const auto address = reinterpret_cast<std::uintptr_t>(result.data_ptr());
  return result.is_cuda() && address % 16 != 0 ? result.clone() : result;
}

at::Tensor EmptyRowNumbers(const at::Tensor& stream, std::int64_t count) {
  const c10::SymInt rows = stream.sym_numel() / stream.sym_size(-1);
  return at::empty_symint({rows, count}, stream.options().dtype(RealType(stream)));
}

at::Tensor EmptyGradient(const at::Tensor& parameter) {
  return at::empty_like(parameter, at::MemoryFormat::Contiguous);
}

at::Tensor RealGradient(const at::Tensor& output, const at::Tensor& stream) {
  if (output.scalar_type() == RealType(stream)) return output;
  return at::empty(output.sizes(), output.options().dtype(RealType(stream)));
}

void TakeGradient(const at::Tensor& real, const at::Tensor& output) {
  if (!real.is_same(output)) output.copy_(real.reshape(output.sizes()));
}

std::optional<at::Tensor> AsOptional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

at::Tensor OrUndefined(const std::optional<at::Tensor>& tensor) {
  return tensor.value_or(at::Tensor());
}

void* DataOrNull(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr() : nullptr;
}

void ThrowUnlessOk(int code) { TORCH_CHECK(code == NORMLAB_OK, normlab_last_error()); }

}  // namespace normlab::kernels
