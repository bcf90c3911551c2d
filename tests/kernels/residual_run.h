// A residual update in both directions, and what its results are compared with.
#ifndef NORMLAB_TESTS_KERNELS_RESIDUAL_RUN_H_
#define NORMLAB_TESTS_KERNELS_RESIDUAL_RUN_H_

#include <cstdint>
#include <string>

#include "tests/kernels/backend.h"
#include "tests/kernels/residual_cases.h"

namespace normlab::kernels {

struct Results {
  explicit Results(const ResidualInputs& in, std::int64_t gap = 0)
      : stream(in.x.dtype(), in.x.rows(), in.x.cols(), gap),
        next(in.g.dtype(), in.x.rows(), in.x.cols(), gap),
        dx(in.x.dtype(), in.x.rows(), in.x.cols(), gap),
        dg(in.g.dtype(), in.x.rows(), in.x.cols(), gap),
        columns(in.x.dtype() == NORMLAB_F64 ? NORMLAB_F64 : NORMLAB_F32, 1, in.x.cols()),
        probes(columns.dtype(), in.x.rows(), NORMLAB_ROW_PROBES) {}
  HostMatrix stream, next, dx, dg, columns, probes;
  double db = 0;
};

// What is left out of the passes.
struct Without {
  bool dstream = false, dnext = false;
  bool probes = false, dg = false, db = false, columns = false, parameters = false;
};

std::string Name(const Without& without);

// Of the C interface, without a workspace.
normlab_residual_forward_args ForwardArgs(const TestForm& form, const ResidualInputs& in,
                                          Results& out, Without without = {});
normlab_residual_backward_args BackwardArgs(const TestForm& form, const ResidualInputs& in,
                                            Results& out, Without without = {});
// Both directions; a fatal failure with the sentence where the backend refuses.
void RunResidual(Backend& backend, const TestForm& form, const ResidualInputs& in, Results& out,
                 Without without = {});
// Every result against the reference. Where the inputs repeat every `period` rows, the results must
// do so bit by bit, and the first rows are compared.
void ExpectMatches(const TestForm& form, TypePair types, const ResidualInputs& in,
                   const Results& out, Without without = {}, std::int64_t period = INT64_MAX);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_RESIDUAL_RUN_H_
