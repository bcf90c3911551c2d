#include "kernels/torch/device_calls.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

#include <ATen/ops/empty.h>

#include "kernels/torch/cuda_calls.h"
#include "kernels/torch/norm_ops.h"
#include "kernels/torch/tensor_access.h"
#include "kernels/torch/torch_threads.h"

namespace normlab::kernels {
namespace {

// The CUDA kernels and the stream to queue on, with the tensor's device current for as long as this
// lives.
class OnCuda {
 public:
  explicit OnCuda(const at::Tensor& on) : guard_(on.device()), calls_(FindCudaCalls()) {
    TORCH_CHECK(on.is_cuda(), "the kernels run on the CPU and on CUDA, not on ", on.device());
    TORCH_CHECK(calls_ != nullptr, "the tensors are on ", on.device(),
                ", but this build of the kernels is for the CPU alone: it needs nvcc and a CUDA "
                "LibTorch when it is configured");
    TORCH_CHECK(calls_->current_stream(on.device().index(), &stream_), "LibTorch has no stream on ",
                on.device());
  }
  const CudaCalls* operator->() const { return calls_; }
  void* stream() const { return stream_; }

 private:
  c10::DeviceGuard guard_;
  const CudaCalls* calls_;
  void* stream_ = nullptr;
};

at::Tensor Workspace(const at::Tensor& on, std::int64_t bytes) {
  return at::empty({bytes}, on.options().dtype(at::kByte));
}

// A learned number as the kernels on a device read it: Real[1] there.
at::Tensor RealOnDevice(const at::Tensor& number, const at::Tensor& on) {
  if (!number.defined()) return number;
  return number.detach().to(on.device(), RealType(on)).contiguous();
}

// Holds what the pointers of normlab_cuda_learned_angle point into.
struct LearnedOnDevice {
  LearnedOnDevice(const LearnedAngle& learned, const at::Tensor& on)
      : scale(RealOnDevice(learned.scale, on)),
        bias(RealOnDevice(learned.bias, on)),
        pointers{DataOrNull(scale), DataOrNull(bias)} {}
  at::Tensor scale, bias;
  normlab_cuda_learned_angle pointers;
};

void TakeLearned(const LearnedAngle& learned, normlab_geonorm_options* options) {
  if (learned.scale.defined()) options->scale = learned.scale.detach().item<double>();
  if (learned.bias.defined()) options->bias = learned.bias.detach().item<double>();
}

void CheckCounter(const at::Tensor& zero_rows, const at::Tensor& on) {
  if (!zero_rows.defined()) return;
  CheckSameDevice("zero_rows", zero_rows, on);
  TORCH_CHECK(zero_rows.scalar_type() == at::kLong && zero_rows.numel() == 1,
              "zero_rows must be one int64, not ", zero_rows.scalar_type(), " of shape ",
              zero_rows.sizes());
}

}  // namespace

bool HasKernels(const at::Tensor& tensor) {
  return tensor.is_cpu() || (tensor.is_cuda() && FindCudaCalls() != nullptr);
}

std::optional<CudaMemory> CudaMemoryOf(int device) {
  const CudaCalls* calls = FindCudaCalls();
  CudaMemory memory;
  if (calls == nullptr ||
      calls->device_memory(device, &memory.free_bytes, &memory.total_bytes) != NORMLAB_OK) {
    return std::nullopt;
  }
  return memory;
}

void CallGeoNormForward(const at::Tensor& on, normlab_geonorm_options options,
                        const LearnedAngle& learned, normlab_geonorm_forward_args args,
                        const at::Tensor& zero_rows) {
  CheckCounter(zero_rows, on);
  args.zero_rows = static_cast<std::int64_t*>(DataOrNull(zero_rows));
  if (!on.is_cpu()) {
    const OnCuda cuda(on);
    const LearnedOnDevice numbers(learned, on);
    return ThrowUnlessOk(cuda->geonorm_forward(&options, &args, &numbers.pointers, cuda.stream()));
  }
  TakeLearned(learned, &options);
  ThrowUnlessOk(normlab_geonorm_forward(&options, &args, TorchExecutor()));
}

void CallGeoNormBackward(const at::Tensor& on, normlab_geonorm_options options,
                         const LearnedAngle& learned, const normlab_geonorm_backward_args& args) {
  if (!on.is_cpu()) {
    const OnCuda cuda(on);
    const LearnedOnDevice numbers(learned, on);
    const at::Tensor workspace = Workspace(on, cuda->geonorm_workspace(args.x.rows));
    return ThrowUnlessOk(cuda->geonorm_backward(&options, &args, &numbers.pointers,
                                                workspace.data_ptr(), cuda.stream()));
  }
  TakeLearned(learned, &options);
  ThrowUnlessOk(normlab_geonorm_backward(&options, &args, TorchExecutor()));
}

void CallNormForward(const at::Tensor& on, const normlab_norm_options& options,
                     const normlab_norm_forward_args& args) {
  if (!on.is_cpu()) {
    const OnCuda cuda(on);
    return ThrowUnlessOk(cuda->norm_forward(&options, &args, cuda.stream()));
  }
  ThrowUnlessOk(normlab_norm_forward(&options, &args, TorchExecutor()));
}

void CallNormBackward(const at::Tensor& on, const normlab_norm_options& options,
                      normlab_norm_backward_args args) {
  const bool columns = args.dgain != nullptr || args.dbias != nullptr;
  at::Tensor workspace;
  if (!on.is_cpu()) {
    const OnCuda cuda(on);
    const normlab_matrix& x = args.x;
    if (columns) workspace = Workspace(on, cuda->norm_workspace(x.rows, x.cols, x.dtype));
    args.workspace = DataOrNull(workspace);
    return ThrowUnlessOk(cuda->norm_backward(&options, &args, cuda.stream()));
  }
  if (columns) {
    workspace =
        Workspace(on, normlab_norm_backward_workspace(args.x.rows, args.x.cols, args.x.dtype));
  }
  args.workspace = DataOrNull(workspace);
  ThrowUnlessOk(normlab_norm_backward(&options, &args, TorchExecutor()));
}

void CallResidualForward(const at::Tensor& on, normlab_residual_form form,
                         const at::Tensor& learned_b, normlab_residual_forward_args args) {
  if (!on.is_cpu()) {
    const OnCuda cuda(on);
    const at::Tensor number = RealOnDevice(learned_b, on);
    return ThrowUnlessOk(cuda->residual_forward(&form, &args, DataOrNull(number), cuda.stream()));
  }
  if (learned_b.defined()) form.b *= learned_b.detach().item<double>();
  const at::Tensor workspace =
      Workspace(on, normlab_residual_forward_workspace(args.x.rows, args.x.cols, args.x.dtype));
  args.workspace = workspace.data_ptr();
  ThrowUnlessOk(normlab_residual_forward(&form, &args, TorchExecutor()));
}

void CallResidualBackward(const at::Tensor& on, normlab_residual_form form,
                          const at::Tensor& learned_b, normlab_residual_backward_args args) {
  const normlab_matrix& dx = args.dx;
  if (!on.is_cpu()) {
    const OnCuda cuda(on);
    const at::Tensor number = RealOnDevice(learned_b, on);
    const at::Tensor workspace =
        Workspace(on, cuda->residual_workspace(dx.rows, dx.cols, dx.dtype));
    args.workspace = workspace.data_ptr();
    return ThrowUnlessOk(cuda->residual_backward(&form, &args, DataOrNull(number), cuda.stream()));
  }
  if (learned_b.defined()) form.b *= learned_b.detach().item<double>();
  const at::Tensor workspace =
      Workspace(on, normlab_residual_backward_workspace(dx.rows, dx.cols, dx.dtype));
  args.workspace = workspace.data_ptr();
  ThrowUnlessOk(normlab_residual_backward(&form, &args, TorchExecutor()));
}

}  // namespace normlab::kernels
