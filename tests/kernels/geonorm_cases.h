// Inputs of the GeoNorm tests: one row per regime, seeded, and the bounds that a row's results must
// keep, derived from the types.
#ifndef NORMLAB_TESTS_KERNELS_GEONORM_CASES_H_
#define NORMLAB_TESTS_KERNELS_GEONORM_CASES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/geonorm/geonorm_reference.h"
#include "tests/kernels/host_matrix.h"

namespace normlab::kernels {

// In the order of the rows that FillRegimes makes.
enum class Regime {
  kRandom,
  kTinyAngle,   // |v| = 1e-6 |x|
  kTinyNorms,   // both scaled by 1e-18: the sum of squares underflows in fp32
  kHugeNorms,   // both scaled by 1e18: it overflows
  kHugeBranch,  // |v| = 1e20 |x|: only <v,v> overflows
  kTinyBranch,  // |v| = 1e-22 |x|: only <u,u> underflows
  kSubnormal,   // both 1e-39: subnormal as fp32 and as bf16
  kBranchZero,
  kParallel,        // v = 2x, exactly
  kAntiparallel,    // v = -2x, exactly
  kNearlyParallel,  // v = 30x + 0.3·noise
  kAngleNearPi,     // |u|/|x| = pi - 1e-4
  kLargeAngle,      // |u|/|x| = 20
  kJustAcross,      // v at 46 degrees to x: |u|^2 is a little more than half of |v|^2
  kJustAlong,       // at 44 degrees: a little less
  kZeroRow,
  kCount
};

std::string Name(Regime regime);
std::string Name(const normlab_geonorm_options& options);

struct TypePair {
  normlab_dtype stream, branch;
};
inline constexpr TypePair kF32{NORMLAB_F32, NORMLAB_F32};
inline constexpr TypePair kF64{NORMLAB_F64, NORMLAB_F64};
inline constexpr TypePair kBf16{NORMLAB_BF16, NORMLAB_BF16};
inline constexpr TypePair kMixed{NORMLAB_F32, NORMLAB_BF16};
// Every pair that the interface takes.
const std::vector<TypePair>& TypePairs();

// A gap between rows that lie apart: rows of a width with a CUDA kernel of its own start at
// multiples of 16 bytes, and the others anywhere.
inline std::int64_t GapFor(std::int64_t cols) { return cols % 8 == 0 ? 8 : 3; }

normlab_geonorm_options PlainOptions();
// Retractions, steps, clamps, affine and fixed angles: each once.
const std::vector<normlab_geonorm_options>& OptionVariants();

// x, v and g of `rows` rows; row r is of regime r % kCount.
struct GeoNormInputs {
  GeoNormInputs(TypePair types, std::int64_t rows, std::int64_t cols, std::int64_t gap = 0);
  HostMatrix x, v, g;
};
GeoNormInputs MakeInputs(TypePair types, std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                         std::int64_t gap = 0);
GeoNormInputs OneRow(const GeoNormInputs& in, std::int64_t row);

// Both directions over the same inputs; rows of y, dx and dv may lie apart.
struct GeoNormOutputs {
  explicit GeoNormOutputs(const GeoNormInputs& in, std::int64_t gap = 0);

  normlab_geonorm_forward_args Forward(const GeoNormInputs& in);
  normlab_geonorm_backward_args Backward(const GeoNormInputs& in);
  double Probe(std::int64_t row, int which) const;
  double Saved(std::int64_t row, int which) const;

  HostMatrix y, dx, dv;
  std::vector<double> saved, probes;  // of the arithmetic's type, which may be narrower
  std::int64_t zero_rows = 0;
  double dangle[3] = {};

 private:
  double RealAt(const std::vector<double>& reals, std::int64_t index) const;
};

struct GeoNormBounds {
  std::vector<double> y, dx, dv;
  std::array<double, 3> dangle;
  // Whatever the angle, also where it is so large that it can be any: of |y| - |x|, and of <dv, x>.
  double radius, across;
  // Of |dx - reference|: where v is far from square to x, columns alone could be off by all of dx.
  double dx_length;
};
// Of rows as the reference has them.
long double Dot(const reference::Vector& one, const reference::Vector& other);
long double Length(const reference::Vector& values);

// How far results may be from the reference, element by element: the rounding of the stored
// result, plus the arithmetic's rounding times the condition of the formula at this row.
GeoNormBounds BoundsOf(const normlab_geonorm_options& options, TypePair types,
                       const reference::Vector& x, const reference::Vector& v,
                       const reference::Vector& g);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_GEONORM_CASES_H_
