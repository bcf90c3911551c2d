// A fault of the GPU or of its runtime ends the program with the runtime's sentence.
#ifndef NORMLAB_TESTS_KERNELS_CUDA_OR_STOP_H_
#define NORMLAB_TESTS_KERNELS_CUDA_OR_STOP_H_

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

namespace normlab::kernels {

inline void OrStop(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_CUDA_OR_STOP_H_
