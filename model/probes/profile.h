// How a probe turns tensors into records: columns are stacked on the device and brought over once.
#ifndef NORMLAB_MODEL_PROBES_PROFILE_H_
#define NORMLAB_MODEL_PROBES_PROFILE_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "core/record.h"

namespace normlab::model {

// One profile per key. rows[i] is a 1-dimensional fp64 tensor with one entry per key, and becomes
// entry i of every profile.
std::vector<ProfileRecord> MakeProfiles(const std::vector<std::string>& keys,
                                        const std::vector<at::Tensor>& rows, int64_t step,
                                        int32_t first_index);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_PROFILE_H_
