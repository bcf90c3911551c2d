// NORMLAB_CPU_ISA is read once per process, so each case is a process of its own: a death test that
// starts this program again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "kernels/common/cpu_isa.h"
#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {
namespace {

class CpuIsaTest : public testing::Test {
 protected:
  CpuIsaTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Every function that computes, on no rows: the code of each, and the sentence of the last.
std::string CallEverything() {
  const normlab_matrix none{nullptr, 0, 8, 8, NORMLAB_F32};
  const normlab_geonorm_options angle{NORMLAB_EXP, 1, 1, 0, 0, 0, 0};
  const normlab_geonorm_forward_args turn{none, none, none, nullptr, nullptr, nullptr};
  const normlab_geonorm_backward_args turn_back{none, none, none, nullptr, none, none, nullptr};
  const normlab_norm_options options{NORMLAB_RMSNORM, 1e-5, 0};
  const normlab_norm_forward_args norm{none, nullptr, nullptr, none, nullptr};
  const normlab_norm_backward_args norm_back{none, none,    nullptr, nullptr,
                                             none, nullptr, nullptr, nullptr};
  normlab_residual_form form{};
  form.a = form.b = 1;
  const normlab_residual_forward_args update{none, none, none, none, nullptr, nullptr};
  normlab_residual_backward_args update_back{};
  update_back.g = update_back.dx = none;
  const int codes[] = {normlab_geonorm_forward(&angle, &turn, nullptr),
                       normlab_geonorm_backward(&angle, &turn_back, nullptr),
                       normlab_norm_forward(&options, &norm, nullptr),
                       normlab_norm_backward(&options, &norm_back, nullptr),
                       normlab_residual_forward(&form, &update, nullptr),
                       normlab_residual_backward(&form, &update_back, nullptr)};
  std::string result;
  for (const int code : codes) result += std::to_string(code);
  return result + " " + normlab_last_error();
}

// In a process where nothing has asked for the level before.
[[noreturn]] void Report(const char* wanted) {
  setenv("NORMLAB_CPU_ISA", wanted, 1);
  std::fprintf(stderr, "%s: %s.\n", normlab_cpu_isa(), CallEverything().c_str());
  std::exit(0);
}

TEST_F(CpuIsaTest, EachLevelIsInForceOrRefused) {
  for (int i = 0; i < kCpuIsaCount; ++i) {
    const auto isa = static_cast<CpuIsa>(i);
    const std::string name = CpuIsaName(isa);
    EXPECT_EXIT(Report(name.c_str()), testing::ExitedWithCode(0),
                CpuSupports(isa)
                    ? name + ": 000000 \\."
                    : "none: 111111 NORMLAB_CPU_ISA names an instruction set that this CPU or "
                      "build lacks\\.");
  }
}

TEST_F(CpuIsaTest, UnknownLevelFailsEveryCall) {
  EXPECT_EXIT(Report("sse9"), testing::ExitedWithCode(0),
              "none: 111111 NORMLAB_CPU_ISA is none of portable, avx2, avx512, avx512_bf16\\.");
}

TEST_F(CpuIsaTest, EmptyMeansTheBestThereIs) {
  const char* best = CpuIsaName(CpuSupports(CpuIsa::kAvx512Bf16) ? CpuIsa::kAvx512Bf16
                                : CpuSupports(CpuIsa::kAvx512)   ? CpuIsa::kAvx512
                                : CpuSupports(CpuIsa::kAvx2)     ? CpuIsa::kAvx2
                                                                 : CpuIsa::kPortable);
  EXPECT_EXIT(Report(""), testing::ExitedWithCode(0), std::string(best) + ": 000000 \\.");
}

TEST_F(CpuIsaTest, ForcedLevelThatIsNotThereIsRefused) {
  EXPECT_EQ(normlab_force_cpu_isa("sse9"), NORMLAB_INVALID_ARGUMENT);
  EXPECT_THAT(normlab_last_error(), testing::HasSubstr("no instruction set 'sse9'"));
}

}  // namespace
}  // namespace normlab::kernels
