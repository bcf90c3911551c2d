// The makers of the single backends, for backend.cc.
#ifndef NORMLAB_TESTS_KERNELS_BACKENDS_H_
#define NORMLAB_TESTS_KERNELS_BACKENDS_H_

#include <memory>
#include <string>

#include "tests/kernels/backend.h"

namespace normlab::kernels {

// past_caches: every result is written past the caches where its rows allow it.
std::unique_ptr<Backend> MakeCpuBackend(const std::string& isa, bool past_caches);
std::unique_ptr<Backend> MakeSimtBackend();

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_BACKENDS_H_
