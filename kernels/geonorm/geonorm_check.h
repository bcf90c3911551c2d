// Checks of GeoNorm's arguments, shared by the CPU and the CUDA interface.
#ifndef NORMLAB_KERNELS_GEONORM_GEONORM_CHECK_H_
#define NORMLAB_KERNELS_GEONORM_GEONORM_CHECK_H_

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// NORMLAB_OK, or a failure kept for normlab_last_error(). `alignment`: bytes at which rows start.
int CheckGeoNormOptions(const normlab_geonorm_options& options);
int CheckGeoNormForward(const normlab_geonorm_forward_args& args, int alignment);
int CheckGeoNormBackward(const normlab_geonorm_backward_args& args, int alignment);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_GEONORM_GEONORM_CHECK_H_
