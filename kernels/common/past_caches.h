// Which results are written past the caches. A store into a cache reads the line from memory first;
// results that outgrow the last cache are better written by stores that do not: a third of what
// memory moves in a forward pass. Speed alone depends on it, no bit of a result does.
#ifndef NORMLAB_KERNELS_COMMON_PAST_CACHES_H_
#define NORMLAB_KERNELS_COMMON_PAST_CACHES_H_

#include <cstdint>
#include <initializer_list>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// Whether a call that reads `inputs` and writes `outputs` had better write past the caches. Such
// stores need rows of the outputs that start at lines of the cache. Matrices without data do not
// count.
bool GoesPastCaches(std::initializer_list<normlab_matrix> inputs,
                    std::initializer_list<normlab_matrix> outputs);

// So many bytes of inputs and outputs are more than the caches hold; a negative number stands for
// the usual one. For the whole process (tests).
void SetPastCachesFrom(std::int64_t bytes);

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_COMMON_PAST_CACHES_H_
