#ifndef NORMLAB_CORE_SWEEP_SPEC_CHECK_H_
#define NORMLAB_CORE_SWEEP_SPEC_CHECK_H_

#include "core/sweep/error_sink.h"
#include "core/sweep/sweep_spec.h"

namespace normlab {

// What must hold between the parts of a sweep, each check alone, so that a fault in one part of a
// file hides as little as can be of the others.

// A data set is named, in base or by a factor.
void CheckDatasetNamed(const SweepSpec& spec, ErrorSink& sink);
// zip, exclude, baseline and primary against the factors.
void CheckAgainstFactors(const SweepSpec& spec, ErrorSink& sink);
// Every combination is a possible config, the baseline among them, and there are not too many. Only
// for a spec without other errors.
void CheckCombinations(const SweepSpec& spec, ErrorSink& sink);

}  // namespace normlab

#endif  // NORMLAB_CORE_SWEEP_SPEC_CHECK_H_
