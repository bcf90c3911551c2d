// Argument checks of the C interface: one sentence per fault, kept for normlab_last_error().
#ifndef NORMLAB_KERNELS_COMMON_CHECK_ARGS_H_
#define NORMLAB_KERNELS_COMMON_CHECK_ARGS_H_

#include <string>

#include "kernels/include/normlab_kernels.h"

namespace normlab::kernels {

// Keeps the sentence for this thread and returns NORMLAB_INVALID_ARGUMENT.
int Fail(const std::string& sentence);
int FailOnDevice(const std::string& sentence);

// A matrix with the name that it has in the header.
struct Named {
  const char* name;
  const normlab_matrix& matrix;
};

// The first fault of each kind, as NORMLAB_OK or a failure already kept. `alignment` is the
// number of bytes at which every row must start (0: the element's size).
int CheckMatrix(const Named& named, int alignment = 0);
int CheckSameShape(const Named& one, const Named& other);
int CheckSameType(const Named& one, const Named& other);
// F32+F32, BF16+BF16, F32+BF16 or F64+F64.
int CheckTypePair(const Named& stream, const Named& branch);
int CheckPointer(const char* name, const void* pointer, normlab_dtype stream);

// Whether an output may lie exactly where an input lies, element on element.
enum class InPlace { kAllowed, kRefused };
// An output against another operand: no element of one may lie on one of the other.
int CheckApart(const Named& output, const Named& other, InPlace in_place);

int ElementBytes(normlab_dtype dtype);
// Bytes of the Real that belongs to a stream type.
int RealBytes(normlab_dtype stream);

}  // namespace normlab::kernels

#define NORMLAB_RETURN_IF_FAULT(expression)                       \
  do {                                                            \
    if (const int fault = (expression); fault != 0) return fault; \
  } while (false)

#endif  // NORMLAB_KERNELS_COMMON_CHECK_ARGS_H_
