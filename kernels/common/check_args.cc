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
  if (matrix.rows < 0 || matrix.cols < 1) {
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
  return Fail(std::string(name) + " is misaligned");
}

}  // namespace normlab::kernels

extern "C" const char* normlab_last_error(void) { return normlab::kernels::last_error.c_str(); }
