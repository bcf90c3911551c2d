// The level that lets the processor round to bf16 must not be seen in the results: a run begun with
// it goes on where the processor only has the one below.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/common/cpu_isa.h"
#include "tests/kernels/backends.h"
#include "tests/kernels/geonorm_run.h"
#include "tests/kernels/norm_run.h"
#include "tests/kernels/residual_run.h"

namespace normlab::kernels {
namespace {

const TypePair kTypes[] = {kBf16, kMixed};
constexpr std::int64_t kRows = 32;  // two of each regime, subnormals among them
constexpr std::int64_t kLevelWidths[] = {87, 128, 200, 1600};

// Runs on both levels, one after the other; twice on one where the processor lacks them.
template <class Run>
void OnBoth(Run run) {
  const bool both = CpuSupports(CpuIsa::kAvx512Bf16);
  run(*MakeCpuBackend(both ? "avx512" : "portable", false), 0);
  run(*MakeCpuBackend(both ? "avx512_bf16" : "portable", false), 1);
}

TEST(RoundingLevelTest, GeoNormHasTheSameBits) {
  for (const TypePair types : kTypes) {
    for (const std::int64_t cols : kLevelWidths) {
      GeoNormInputs in = MakeInputs(types, kRows, cols, 3);
      for (HostMatrix* matrix : {&in.x, &in.v, &in.g}) {  // subnormals in rows of any size
        for (std::int64_t r = 0; r < kRows; ++r) {
          matrix->Set(r, 5, 1e-39);
          matrix->Set(r, 6, -1e-39);
        }
      }
      std::vector<GeoNormOutputs> out(2, GeoNormOutputs(in));
      OnBoth([&](Backend& backend, std::size_t which) {
        RunGeoNorm(backend, PlainOptions(), in, out[which]);
      });
      EXPECT_EQ(out[0].y.bytes(), out[1].y.bytes()) << cols;
      EXPECT_EQ(out[0].dx.bytes(), out[1].dx.bytes()) << cols;
      EXPECT_EQ(out[0].dv.bytes(), out[1].dv.bytes()) << cols;
    }
  }
}

TEST(RoundingLevelTest, NormsHaveTheSameBits) {
  for (const TypePair types : kTypes) {
    for (const std::int64_t cols : kLevelWidths) {
      for (const double size : {1.0, 1e-39}) {
        std::vector<NormCase> cases(2,
                                    NormCase({NORMLAB_LAYERNORM, 1e-5, 0}, types, 7, cols, size));
        OnBoth([&](Backend& backend, std::size_t which) { RunNorm(backend, cases[which]); });
        EXPECT_EQ(cases[0].y.bytes(), cases[1].y.bytes()) << cols;
        EXPECT_EQ(cases[0].dx.bytes(), cases[1].dx.bytes()) << cols;
        EXPECT_EQ(cases[0].dgain.matrix.bytes(), cases[1].dgain.matrix.bytes()) << cols;
      }
    }
  }
}

TEST(RoundingLevelTest, ResidualUpdatesHaveTheSameBits) {
  for (const TypePair types : kTypes) {
    for (const FormChoice& choice : FormChoices()) {
      constexpr std::int64_t kCols = 200;
      const ResidualInputs in = MakeResidualInputs(types, kRows, kCols, 5);
      std::vector<Results> out(2, Results(in));
      OnBoth([&](Backend& backend, std::size_t which) {
        const TestForm form(choice, types, kRows, kCols);
        RunResidual(backend, form, in, out[which]);
      });
      EXPECT_EQ(out[0].stream.bytes(), out[1].stream.bytes()) << Name(choice);
      EXPECT_EQ(out[0].next.bytes(), out[1].next.bytes()) << Name(choice);
      EXPECT_EQ(out[0].dx.bytes(), out[1].dx.bytes()) << Name(choice);
      EXPECT_EQ(out[0].dg.bytes(), out[1].dg.bytes()) << Name(choice);
      EXPECT_EQ(out[0].columns.bytes(), out[1].columns.bytes()) << Name(choice);
    }
  }
}

}  // namespace
}  // namespace normlab::kernels
