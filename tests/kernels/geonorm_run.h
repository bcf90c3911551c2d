// GeoNorm in both directions, and what its results are compared with.
#ifndef NORMLAB_TESTS_KERNELS_GEONORM_RUN_H_
#define NORMLAB_TESTS_KERNELS_GEONORM_RUN_H_

#include <array>
#include <cstdint>

#include "tests/kernels/backend.h"
#include "tests/kernels/geonorm_cases.h"

namespace normlab::kernels {

// Both directions; a fatal failure with the sentence where the backend refuses.
void RunGeoNorm(Backend& backend, const normlab_geonorm_options& options, const GeoNormInputs& in,
                GeoNormOutputs& out, const LearnedNumbers& learned = {});

// Row r of the results against the reference; returns its share in the sums.
struct RowShare {
  reference::GeoNormGradients gradients;
  GeoNormBounds bounds;
};
RowShare ExpectRowMatches(const normlab_geonorm_options& options, TypePair types,
                          const GeoNormInputs& in, const GeoNormOutputs& out, std::int64_t r);
void ExpectAngleGradients(const GeoNormOutputs& out, const std::array<long double, 3>& want,
                          const std::array<double, 3>& bounds);

// Every result against the reference. Where the inputs repeat every `period` rows, the results must
// do so bit by bit, and the first rows are compared.
void ExpectMatches(const normlab_geonorm_options& options, TypePair types, const GeoNormInputs& in,
                   const GeoNormOutputs& out, std::int64_t period = INT64_MAX);

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_GEONORM_RUN_H_
