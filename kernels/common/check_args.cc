#include "kernels/common/check_args.h"

#include <cstdint>

namespace normlab::kernels {
namespace {

thread_local std::string last_error;

const char* TypeName(normlab_dtype dtype) {
  switch (dtype) {
    case NORMLAB_F32:
      return "F32";
    case NORMLAB_F64:
      return "F64";
    case NORMLAB_BF16:
      return "BF16";
  }
  return "an unknown type";
}

std::string Shape(const normlab_matrix& matrix) {
  return "[" + std::to_string(matrix.rows) + ", " + std::to_string(matrix.cols) + "]";
}

bool IsKnown(normlab_dtype dtype) {
  return dtype == NORMLAB_F32 || dtype == NORMLAB_F64 || dtype == NORMLAB_BF16;
}

// Whether two checked matrices share memory. Those that share a row stride may be columns of one
// larger matrix, and then lie apart though their first and last bytes do not.
bool Overlap(const normlab_matrix& a, const normlab_matrix& b) {
  if (a.rows == 0 || b.rows == 0) return false;
  const std::int64_t width_a = a.cols * ElementBytes(a.dtype);
  const std::int64_t width_b = b.cols * ElementBytes(b.dtype);
  const std::int64_t step_a = a.row_stride * ElementBytes(a.dtype);
  const std::int64_t step_b = b.row_stride * ElementBytes(b.dtype);
  const auto distance = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b.data) -
                                                  reinterpret_cast<std::uintptr_t>(a.data));
  const std::int64_t end_a = (a.rows - 1) * step_a + width_a;
  const std::int64_t end_b = (b.rows - 1) * step_b + width_b;
  if (distance >= end_a || -distance >= end_b) return false;
  if (step_a != step_b || a.rows == 1 || b.rows == 1) return true;
  const std::int64_t column = (distance % step_a + step_a) % step_a;
  return column < width_a || column + width_b > step_a;
}

}  // namespace

int Fail(const std::string& sentence) {
  last_error = sentence;
  return NORMLAB_INVALID_ARGUMENT;
}

int FailOnDevice(const std::string& sentence) {
  last_error = sentence;
  return NORMLAB_DEVICE_ERROR;
}

int ElementBytes(normlab_dtype dtype) {
  return dtype == NORMLAB_F64 ? 8 : dtype == NORMLAB_F32 ? 4 : 2;
}

int RealBytes(normlab_dtype stream) { return stream == NORMLAB_F64 ? 8 : 4; }

int CheckMatrix(const Named& named, int alignment) {
  const normlab_matrix& matrix = named.matrix;
  const std::string name = named.name;
  if (!IsKnown(matrix.dtype)) return Fail(name + " has an unknown dtype");
  if (matrix.rows < 0) {
    return Fail(name + " has the shape " + Shape(matrix) + "; it cannot have fewer than 0 rows");
  }
  if (matrix.cols < 1) {
    return Fail(name + " has the shape " + Shape(matrix) + "; it needs at least one column");
  }
  if (matrix.rows > 1 && matrix.row_stride < matrix.cols) {
    return Fail(name + " of shape " + Shape(matrix) + " has a row stride of " +
                std::to_string(matrix.row_stride) + " elements: its rows would overlap");
  }
  if (matrix.rows == 0) return NORMLAB_OK;
  if (matrix.data == nullptr) return Fail(name + " of shape " + Shape(matrix) + " has no data");
  const auto address = reinterpret_cast<std::uintptr_t>(matrix.data);
  const int bytes = ElementBytes(matrix.dtype);
  const int step = alignment > bytes ? alignment : bytes;
  const bool rows_aligned = matrix.rows == 1 || matrix.row_stride * bytes % step == 0;
  if (address % static_cast<std::uintptr_t>(step) != 0 || !rows_aligned) {
    return Fail(name + " of shape " + Shape(matrix) + " is misaligned: its rows must start at " +
                "multiples of " + std::to_string(step) + " bytes");
  }
  return NORMLAB_OK;
}

int CheckSameShape(const Named& one, const Named& other) {
  if (one.matrix.rows == other.matrix.rows && one.matrix.cols == other.matrix.cols) {
    return NORMLAB_OK;
  }
  return Fail(std::string(one.name) + " has the shape " + Shape(one.matrix) + ", but " +
              other.name + " has the shape " + Shape(other.matrix));
}

int CheckSameType(const Named& one, const Named& other) {
  if (one.matrix.dtype == other.matrix.dtype) return NORMLAB_OK;
  return Fail(std::string(one.name) + " " + Shape(one.matrix) + " is " +
              TypeName(one.matrix.dtype) + ", but " + other.name + " " + Shape(other.matrix) +
              " is " + TypeName(other.matrix.dtype));
}

int CheckTypePair(const Named& stream, const Named& branch) {
  const normlab_dtype a = stream.matrix.dtype, b = branch.matrix.dtype;
  if (a == b || (a == NORMLAB_F32 && b == NORMLAB_BF16)) return NORMLAB_OK;
  return Fail(std::string(stream.name) + " " + Shape(stream.matrix) + " is " + TypeName(a) +
              " and " + branch.name + " " + Shape(branch.matrix) + " is " + TypeName(b) +
              "; they must be alike, or F32 and BF16");
}

int CheckPointer(const char* name, const void* pointer, normlab_dtype stream) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address % static_cast<std::uintptr_t>(RealBytes(stream)) == 0) return NORMLAB_OK;
  return Fail(std::string(name) + " is misaligned: it must start at a multiple of " +
              std::to_string(RealBytes(stream)) + " bytes");
}

int CheckApart(const Named& output, const Named& other, InPlace in_place) {
  const normlab_matrix &a = output.matrix, &b = other.matrix;
  if (!Overlap(a, b)) return NORMLAB_OK;
  const bool same = a.data == b.data && a.dtype == b.dtype && a.rows == b.rows &&
                    a.cols == b.cols && (a.rows <= 1 || a.row_stride == b.row_stride);
  if (same && in_place == InPlace::kAllowed) return NORMLAB_OK;
  return Fail(std::string(output.name) + " " + Shape(a) + " overlaps " + other.name + " " +
              Shape(b) + " in memory: it must lie apart" +
              (in_place == InPlace::kAllowed ? ", or be the same matrix" : ""));
}

}  // namespace normlab::kernels

extern "C" const char* normlab_last_error(void) { return normlab::kernels::last_error.c_str(); }
