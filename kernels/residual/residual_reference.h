// Residual updates of one row, written for reading, in long double.
#ifndef NORMLAB_KERNELS_RESIDUAL_RESIDUAL_REFERENCE_H_
#define NORMLAB_KERNELS_RESIDUAL_RESIDUAL_REFERENCE_H_

#include "kernels/norm/norm_reference.h"

namespace normlab::kernels::reference {

// One norm of an update; an empty gain means ones, an empty bias zeros.
struct ResidualStage {
  bool present = false;
  normlab_norm_options options{};
  Vector gain, bias;
};

struct ResidualForm {
  long double a = 1, b = 1;
  Vector columns;  // empty: ones
  ResidualStage branch, post, next;
};

struct ResidualRow {
  NormRow branch, post;  // of the norms that are present
  Vector h;              // branch(g)
  Vector sum;            // a·x + b·columns·h
  Vector stream;         // post(sum)
};

ResidualRow ResidualForward(const ResidualForm& form, const Vector& x, const Vector& g);

struct ResidualGradients {
  Vector dx, dg;
  Vector by_sum;                  // dL/d(sum)
  Vector through_next;            // dL/d(stream)
  Vector by_branch;               // dL/dh
  Vector by_gain[3], by_bias[3];  // of branch, post, next: this row's share; empty without the norm
  Vector by_columns;
  long double db = 0;
};

// `stream` is the row as it was stored; an empty dnext or dstream means zeros.
ResidualGradients ResidualBackward(const ResidualForm& form, const Vector& x, const Vector& g,
                                   const Vector& stream, const Vector& dstream,
                                   const Vector& dnext);

}  // namespace normlab::kernels::reference

#endif  // NORMLAB_KERNELS_RESIDUAL_RESIDUAL_REFERENCE_H_
