// The few scalar functions that row code shared by host and device needs. Row code lies in the
// namespace NORMLAB_ROW_NAMESPACE: the instruction set's own one in files compiled per level (the
// linker must not merge their inline functions), `row` everywhere else.
#ifndef NORMLAB_KERNELS_COMMON_PORTABLE_MATH_H_
#define NORMLAB_KERNELS_COMMON_PORTABLE_MATH_H_

#if defined(NORMLAB_ISA)
#define NORMLAB_ROW_NAMESPACE NORMLAB_ISA
#else
#define NORMLAB_ROW_NAMESPACE row
#endif

#include <math.h>

#include "kernels/common/bf16.h"

namespace normlab::kernels::NORMLAB_ROW_NAMESPACE {

NORMLAB_HD inline float Sqrt(float x) { return ::sqrtf(x); }
NORMLAB_HD inline double Sqrt(double x) { return ::sqrt(x); }
NORMLAB_HD inline float Sin(float x) { return ::sinf(x); }
NORMLAB_HD inline double Sin(double x) { return ::sin(x); }
NORMLAB_HD inline float Cos(float x) { return ::cosf(x); }
NORMLAB_HD inline double Cos(double x) { return ::cos(x); }
NORMLAB_HD inline float ArcTan(float x) { return ::atanf(x); }
NORMLAB_HD inline double ArcTan(double x) { return ::atan(x); }
NORMLAB_HD inline float Absolute(float x) { return ::fabsf(x); }
NORMLAB_HD inline double Absolute(double x) { return ::fabs(x); }

}  // namespace normlab::kernels::NORMLAB_ROW_NAMESPACE

#endif  // NORMLAB_KERNELS_COMMON_PORTABLE_MATH_H_
