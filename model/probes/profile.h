// How a probe turns tensors into records: columns are stacked on the device and brought over once.
#ifndef NORMLAB_MODEL_PROBES_PROFILE_H_
#define NORMLAB_MODEL_PROBES_PROFILE_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/record.h"

namespace normlab::model {

// On the CPU, whoever measures does so on one thread beside others: a probe is hundreds of short
// operations, and threads that wake and wait in every one of them take twice as long as one alone.

// measure(0) … measure(count − 1), without gradients, each on tensors of about `numbers` numbers.
// Side by side where that is small: the temporaries of large ones would need memory that training
// does not, and keep the threads busy by themselves.
std::vector<at::Tensor> MeasureEach(int64_t count, c10::Device device, int64_t numbers,
                                    const std::function<at::Tensor(int64_t)>& measure);

// Some rows of every tensor [..., d] of a layer.
struct RowBlock {
  int64_t first, count;

  at::Tensor Of(const at::Tensor& x) const;  // [count, d] in fp64; may be x itself
};

// What is measured row by row, for `layers` like `layer`: measure(index of the layer, rows) gives
// [..., count of the rows]; returns [..., all rows] by layer. Blocks are small, so that threads
// side by side need little memory.
std::vector<at::Tensor> MeasureRows(
    int64_t layers, const at::Tensor& layer,
    const std::function<at::Tensor(int64_t, const RowBlock&)>& measure);

// One profile per key. rows[i] is a 1-dimensional fp64 tensor with one entry per key, and becomes
// entry i of every profile.
std::vector<ProfileRecord> MakeProfiles(const std::vector<std::string>& keys,
                                        const std::vector<at::Tensor>& rows, int64_t step,
                                        int32_t first_index);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_PROFILE_H_
