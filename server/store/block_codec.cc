#include "server/store/block_codec.h"

#include <bit>

#include "core/little_endian.h"
#include "core/strings.h"

namespace normlab::server {
namespace {

void PutVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

bool GetVarint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

// Differences of steps wrap like unsigned numbers, so that no pair of steps overflows.
uint64_t ZigZag(uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
uint64_t UnZigZag(uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

bool GetDouble(std::string_view& bytes, double& value) {
  if (bytes.size() < sizeof(double)) return false;
  value = std::bit_cast<double>(GetLittleEndian<uint64_t>(bytes.data()));
  bytes.remove_prefix(sizeof(double));
  return true;
}

absl::Status CheckCodec(int64_t codec, int64_t version) {
  if (codec == kPlainCodec && version == kPlainCodecVersion) return absl::OkStatus();
  return absl::UnimplementedError(
      Cat("block codec ", codec, " version ", version, " is newer than this program"));
}

}  // namespace

std::string EncodeScalars(const std::vector<ScalarPoint>& points, int64_t previous_step) {
  std::string out;
  out.reserve(points.size() * 9);
  auto previous = static_cast<uint64_t>(previous_step);
  for (const ScalarPoint& point : points) {
    const auto step = static_cast<uint64_t>(point.step);
    PutVarint(out, ZigZag(step - previous));
    PutLittleEndian(out, std::bit_cast<uint64_t>(point.value));
    previous = step;
  }
  return out;
}

absl::Status DecodeScalars(int64_t codec, int64_t version, int64_t first_step, int64_t n,
                           std::string_view blob, std::vector<ScalarPoint>& out) {
  if (const absl::Status known = CheckCodec(codec, version); !known.ok()) return known;
  auto step = static_cast<uint64_t>(first_step);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t difference = 0;
    double value = 0;
    if (!GetVarint(blob, difference) || !GetDouble(blob, value)) {
      return DataLoss("a scalar block of ", n, " points ends at point ", i);
    }
    step += UnZigZag(difference);
    out.push_back({static_cast<int64_t>(step), value});
  }
  if (!blob.empty()) return DataLoss("a scalar block has ", blob.size(), " bytes too many");
  return absl::OkStatus();
}

std::string EncodeProfile(const std::vector<double>& values) {
  std::string out;
  out.reserve(values.size() * sizeof(double));
  for (const double value : values) PutLittleEndian(out, std::bit_cast<uint64_t>(value));
  return out;
}

absl::Status DecodeProfile(int64_t codec, int64_t version, int64_t n, std::string_view blob,
                           std::vector<double>& out) {
  if (const absl::Status known = CheckCodec(codec, version); !known.ok()) return known;
  if (n < 0 || blob.size() != static_cast<size_t>(n) * sizeof(double)) {
    return DataLoss("a profile of ", n, " values has ", blob.size(), " bytes");
  }
  double value = 0;
  while (GetDouble(blob, value)) out.push_back(value);
  return absl::OkStatus();
}

}  // namespace normlab::server
