// The safetensors format, both ways:
//   u64 length of the header (little-endian) | JSON header, padded with spaces to 8 bytes | data
// The header maps a name to {"dtype", "shape", "data_offsets": [begin, end]} with offsets into the
// data. Loads in PyTorch and NumPy with the safetensors package.
#ifndef NORMLAB_MODEL_SAFETENSORS_H_
#define NORMLAB_MODEL_SAFETENSORS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace normlab::model {

struct NamedTensor {
  std::string name;
  at::Tensor value;
};

struct FileDigest {
  std::string sha256;
  int64_t bytes = 0;
};

// Writes the tensors (F64, F32, BF16 or I64, any device and strides) and syncs the file. Returns
// what was written. An existing file is replaced as a whole, by renaming: one that is open or
// mapped elsewhere stays as it was.
absl::StatusOr<FileDigest> WriteSafetensors(const std::string& path,
                                            const std::vector<NamedTensor>& tensors);

// All tensors of a file, by name, on the CPU. DataLoss for a file that is cut short or whose header
// does not fit its data.
absl::StatusOr<std::map<std::string, at::Tensor>> ReadSafetensors(const std::string& path);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_SAFETENSORS_H_
