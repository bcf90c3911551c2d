#ifndef NORMLAB_SERVER_STORE_BLOCK_CODEC_H_
#define NORMLAB_SERVER_STORE_BLOCK_CODEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace normlab::server {

// How scalars and profiles become bytes and come back bit for bit, NaN payloads included.
//
// Codec 1, version 1, scalars: per point the difference of its step to the step before (of the
// first point: to `first_step`) as zigzag LEB128, then the value as a little-endian double. So a
// block is appended to by appending bytes.
// Codec 1, version 1, profiles: the values as little-endian doubles.

inline constexpr int kPlainCodec = 1;
inline constexpr int kPlainCodecVersion = 1;

// Points in a block at which it is full and the next one is begun.
inline constexpr int64_t kBlockPoints = 512;

struct ScalarPoint {
  int64_t step = 0;
  double value = 0;
};

// The bytes of `points`, when the point before them in the block has step `previous_step` (for a
// new block: the first point's own step).
std::string EncodeScalars(const std::vector<ScalarPoint>& points, int64_t previous_step);

// Appends the points of a block to `out`. DataLoss when the bytes are not `n` whole points;
// Unimplemented for a codec or version that this program does not know.
absl::Status DecodeScalars(int64_t codec, int64_t version, int64_t first_step, int64_t n,
                           std::string_view blob, std::vector<ScalarPoint>& out);

std::string EncodeProfile(const std::vector<double>& values);
absl::Status DecodeProfile(int64_t codec, int64_t version, int64_t n, std::string_view blob,
                           std::vector<double>& out);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_BLOCK_CODEC_H_
