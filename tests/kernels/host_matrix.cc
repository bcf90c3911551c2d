#include "tests/kernels/host_matrix.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/bf16.h"

namespace normlab::kernels {
namespace {

constexpr unsigned char kGapPattern = 0xA5;

std::int64_t Bytes(normlab_dtype dtype) {
  return dtype == NORMLAB_F64 ? 8 : dtype == NORMLAB_F32 ? 4 : 2;
}

}  // namespace

HostMatrix::HostMatrix(normlab_dtype dtype, std::int64_t rows, std::int64_t cols, std::int64_t gap)
    : dtype_(dtype),
      rows_(rows),
      cols_(cols),
      stride_(cols + gap),
      bytes_(static_cast<std::size_t>(rows * (cols + gap) * Bytes(dtype)), kGapPattern) {
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memset(&bytes_[static_cast<std::size_t>(r * stride_ * Bytes(dtype))], 0,
                static_cast<std::size_t>(cols * Bytes(dtype)));
  }
}

double HostMatrix::Get(std::int64_t row, std::int64_t col) const {
  const unsigned char* at =
      &bytes_[static_cast<std::size_t>((row * stride_ + col) * Bytes(dtype_))];
  if (dtype_ == NORMLAB_F64) {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  if (dtype_ == NORMLAB_F32) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  Bf16 value;
  std::memcpy(&value, at, sizeof(value));
  return Bf16ToFloat(value);
}

void HostMatrix::Set(std::int64_t row, std::int64_t col, double value) {
  unsigned char* at = &bytes_[static_cast<std::size_t>((row * stride_ + col) * Bytes(dtype_))];
  const float narrow = static_cast<float>(value);
  if (dtype_ == NORMLAB_F64) {
    std::memcpy(at, &value, sizeof(value));
  } else if (dtype_ == NORMLAB_F32) {
    std::memcpy(at, &narrow, sizeof(narrow));
  } else {
    const Bf16 half = Bf16FromFloat(narrow);
    std::memcpy(at, &half, sizeof(half));
  }
}

std::vector<long double> HostMatrix::Row(std::int64_t row) const {
  std::vector<long double> values(static_cast<std::size_t>(cols_));
  for (std::int64_t c = 0; c < cols_; ++c) values[static_cast<std::size_t>(c)] = Get(row, c);
  return values;
}

std::string_view HostMatrix::RowBytes(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row * stride_ * Bytes(dtype_));
  return {reinterpret_cast<const char*>(&bytes_[at]),
          static_cast<std::size_t>(cols_ * Bytes(dtype_))};
}

normlab_matrix HostMatrix::View() const {
  // Outputs are written through this view as well.
  auto* data = const_cast<unsigned char*>(bytes_.data());
  return {data, rows_, cols_, stride_, dtype_};
}

bool HostMatrix::GapsUntouched() const {
  for (std::int64_t r = 0; r < rows_; ++r) {
    for (std::int64_t at = (r * stride_ + cols_) * Bytes(dtype_);
         at < (r + 1) * stride_ * Bytes(dtype_); ++at) {
      if (bytes_[static_cast<std::size_t>(at)] != kGapPattern) return false;
    }
  }
  return true;
}

HostMatrix HostMatrix::Repeated(std::int64_t rows) const {
  HostMatrix result(dtype_, rows, cols_);
  for (std::size_t at = 0; at < result.bytes_.size(); at += bytes_.size()) {
    std::memcpy(&result.bytes_[at], bytes_.data(),
                std::min(bytes_.size(), result.bytes_.size() - at));
  }
  return result;
}

bool HostMatrix::Repeats(std::int64_t period) const {
  const auto step = static_cast<std::size_t>(period * stride_ * Bytes(dtype_));
  return bytes_.size() <= step ||
         std::memcmp(bytes_.data(), &bytes_[step], bytes_.size() - step) == 0;
}

double UnitRoundoff(normlab_dtype dtype) {
  return dtype == NORMLAB_F64 ? 0x1p-53 : dtype == NORMLAB_F32 ? 0x1p-24 : 0x1p-8;
}

double ArithmeticRoundoff(normlab_dtype stream) {
  return stream == NORMLAB_F64 ? 0x1p-53 : 0x1p-24;
}

const char* Name(normlab_dtype dtype) {
  return dtype == NORMLAB_F64 ? "f64" : dtype == NORMLAB_F32 ? "f32" : "bf16";
}

}  // namespace normlab::kernels
