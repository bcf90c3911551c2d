// Stands in for cuda_calls.cc in builds without nvcc or without a CUDA LibTorch.
#include "kernels/torch/cuda_calls.h"

namespace normlab::kernels {

const CudaCalls* FindCudaCalls() { return nullptr; }

}  // namespace normlab::kernels
