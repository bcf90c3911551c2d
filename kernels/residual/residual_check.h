// Checks of the arguments of residual updates, shared by the CPU and the CUDA interface.
#ifndef NORMLAB_KERNELS_RESIDUAL_RESIDUAL_CHECK_H_
#define NORMLAB_KERNELS_RESIDUAL_RESIDUAL_CHECK_H_

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// NORMLAB_OK, or a failure kept for normlab_last_error(). `alignment`: bytes at which rows start.
int CheckResidualForward(const normlab_residual_form& form,
                         const normlab_residual_forward_args& args, int alignment);
int CheckResidualBackward(const normlab_residual_form& form,
                          const normlab_residual_backward_args& args, int alignment);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_RESIDUAL_RESIDUAL_CHECK_H_
