#include "model/probes/profile.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "kernels/torch/torch_threads.h"

namespace normlab::model {
namespace {

constexpr int64_t kFewNumbers = 1 << 19;
constexpr int64_t kBlockNumbers = 1 << 17;  // 1 MiB in fp64

std::vector<at::Tensor> Measure(int64_t count, bool side_by_side,
                                const std::function<at::Tensor(int64_t)>& measure) {
  std::vector<at::Tensor> results(count);
  const auto task = [&](int64_t i) {
    const at::NoGradGuard no_grad;  // holds for one thread only
    results[i] = measure(i);
  };
  if (side_by_side) {
    kernels::OnTorchThreads(count, task);
  } else {
    for (int64_t i = 0; i < count; ++i) task(i);
  }
  return results;
}

}  // namespace

std::vector<at::Tensor> MeasureEach(int64_t count, c10::Device device, int64_t numbers,
                                    const std::function<at::Tensor(int64_t)>& measure) {
  return Measure(count, device.is_cpu() && numbers <= kFewNumbers, measure);
}

at::Tensor RowBlock::Of(const at::Tensor& x) const {
  return x.flatten(0, -2).narrow(0, first, count).to(at::kDouble);
}

std::vector<at::Tensor> MeasureRows(
    int64_t layers, const at::Tensor& layer,
    const std::function<at::Tensor(int64_t, const RowBlock&)>& measure) {
  const int64_t width = layer.size(-1), rows = layer.numel() / width;
  const bool on_cpu = layer.is_cpu();
  const int64_t size = on_cpu ? std::clamp<int64_t>(kBlockNumbers / width, 1, rows) : rows;
  const int64_t blocks = (rows + size - 1) / size;
  const auto parts = Measure(layers * blocks, on_cpu, [&](int64_t i) {
    const int64_t first = i % blocks * size;
    return measure(i / blocks, {first, std::min(size, rows - first)});
  });
  std::vector<at::Tensor> joined;
  for (int64_t i = 0; i < layers; ++i) {
    joined.push_back(at::cat(at::ArrayRef(parts).slice(i * blocks, blocks), -1));
  }
  return joined;
}

std::vector<ProfileRecord> MakeProfiles(const std::vector<std::string>& keys,
                                        const std::vector<at::Tensor>& rows, int64_t step,
                                        int32_t first_index) {
  std::vector<ProfileRecord> profiles;
  if (rows.empty()) return profiles;
  const at::Tensor table = at::stack(rows, 1).cpu().contiguous();  // [keys, depth]
  for (size_t k = 0; k < keys.size(); ++k) {
    const at::Tensor row = table[static_cast<int64_t>(k)];
    const double* values = row.const_data_ptr<double>();
    profiles.push_back({step, keys[k], first_index, {values, values + row.numel()}});
  }
  return profiles;
}

}  // namespace normlab::model
