// Forms, inputs and error bounds of the tests of residual updates.
#ifndef NORMLAB_TESTS_KERNELS_RESIDUAL_CASES_H_
#define NORMLAB_TESTS_KERNELS_RESIDUAL_CASES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/residual/residual_reference.h"
#include "tests/kernels/geonorm_cases.h"
#include "tests/kernels/host_matrix.h"

namespace normlab::kernels {

enum class NormChoice { kNone, kLayerNorm, kRmsNorm, kPlainRmsNorm };  // plain: no gain, no bias

// What one test case asks for.
struct FormChoice {
  double a = 1, b = 1;
  bool columns = false;
  NormChoice branch = NormChoice::kNone, post = NormChoice::kNone, next = NormChoice::kNone;
  int pb_relax = 0;
  double eps = 1e-5;
  std::optional<double> learned_b = {};  // multiplies b
};
std::string Name(const FormChoice& choice);

// The forms of the placements, and what they do not use, each once.
const std::vector<FormChoice>& FormChoices();

// A form with its parameters, for the kernels and for the reference.
class TestForm {
 public:
  TestForm(const FormChoice& choice, TypePair types, std::int64_t rows, std::int64_t cols);

  const normlab_residual_form& kernel() const { return form_; }
  std::optional<double> learned_b() const { return choice_.learned_b; }
  const reference::ResidualForm& reference() const { return reference_; }
  // Element `column` of dL/d(gain) and dL/d(bias) of stage 0 (branch), 1 (post) or 2 (next).
  double Gain(std::size_t stage, std::int64_t column) const {
    return gradients_[2 * stage].Get(0, column);
  }
  double Bias(std::size_t stage, std::int64_t column) const {
    return gradients_[2 * stage + 1].Get(0, column);
  }
  bool HasParameters(std::size_t stage) const;

 private:
  FormChoice choice_;
  normlab_residual_form form_{};
  reference::ResidualForm reference_;
  std::vector<HostMatrix> parameters_, gradients_;
  std::vector<std::vector<double>> saved_;
};

// Rows of x and g, regime after regime.
enum class ResidualRegime {
  kRandom,
  kTiny,        // both 1e-18
  kHuge,        // both 1e18
  kSubnormal,   // both 1e-39
  kCancelling,  // g = -x
  kBranchZero,
  kZeroRow,
  kShifted,  // a mean of 30 deviations
  kCount
};
std::string Name(ResidualRegime regime);

struct ResidualInputs {
  ResidualInputs(TypePair types, std::int64_t rows, std::int64_t cols, std::int64_t gap = 0);
  HostMatrix x, g, dstream, dnext;
};
ResidualInputs MakeResidualInputs(TypePair types, std::int64_t rows, std::int64_t cols,
                                  std::uint64_t seed, std::int64_t gap = 0);
ResidualInputs OneRow(const ResidualInputs& in, std::int64_t row);

// How far a row's results may be from the reference (`row` and `back`), element by element.
struct ResidualBounds {
  std::vector<double> stream, dx, dg;
  std::vector<double> gain[3], bias[3], columns;
  double db = 0;
};
ResidualBounds ResidualBoundsOf(const reference::ResidualForm& form, TypePair types,
                                const reference::Vector& x, const reference::Vector& stream,
                                const reference::Vector& dnext, const reference::ResidualRow& row,
                                const reference::ResidualGradients& back);
// Of next, given the stream as stored.
std::vector<double> NextBounds(const reference::ResidualForm& form, TypePair types,
                               const reference::NormRow& row);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_RESIDUAL_CASES_H_
