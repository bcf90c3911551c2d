// The widths of the presets: each has CUDA kernels of its own, and is among those that tests use.
#include "core/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/testing/simt_kernels.h"
#include "tests/kernels/host_matrix.h"

namespace normlab::kernels {
namespace {

TEST(PresetsTest, EveryWidthHasKernelsOfItsOwn) {
  const normlab_norm_options options{NORMLAB_RMSNORM, 1e-5, 0};
  for (const Preset& preset : Presets()) {
    SCOPED_TRACE(preset.name);
    EXPECT_THAT(kWidths, testing::Contains(preset.width));
    const HostMatrix x(NORMLAB_F32, 1, preset.width + 1), y(NORMLAB_F32, 1, preset.width);
    normlab_norm_forward_args args{};
    args.x = {static_cast<float*>(x.View().data) + 1, 1, preset.width, preset.width, NORMLAB_F32};
    args.y = y.View();
    // Only those read sixteen bytes at a time; the kernel for any width would take the row.
    EXPECT_EQ(normlab_simt_norm_forward(&options, &args, nullptr), NORMLAB_INVALID_ARGUMENT);
    EXPECT_THAT(normlab_last_error(), testing::HasSubstr("multiples of 16 bytes"));
  }
}

}  // namespace
}  // namespace normlab::kernels
