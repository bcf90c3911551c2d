#include "model/probes/profile.h"

#include <ATen/ATen.h>

namespace normlab::model {

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
