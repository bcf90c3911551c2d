// Checks of the arguments of LayerNorm and RMSNorm, shared by the CPU and the CUDA interface.
#ifndef NORMLAB_KERNELS_NORM_NORM_CHECK_H_
#define NORMLAB_KERNELS_NORM_NORM_CHECK_H_

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// NORMLAB_OK, or a failure kept for normlab_last_error(). `alignment`: bytes at which rows start.
int CheckNormOptions(const normlab_norm_options& options);
int CheckNormForward(const normlab_norm_forward_args& args, int alignment);
int CheckNormBackward(const normlab_norm_backward_args& args, int alignment);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_NORM_NORM_CHECK_H_
