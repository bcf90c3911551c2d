// Few rows, far apart: pages in between are never touched, so they take no memory.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/kernels/far_matrix.h"

namespace normlab::kernels {
namespace {

// Elements from row to row: from the third on they are far.
constexpr std::int64_t kStride = std::int64_t{1} << 30;

std::size_t SpanBytes(std::int64_t rows) {
  return static_cast<std::size_t>(rows * kStride * 2);  // of bf16
}

void* Reserve(std::size_t bytes) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
              -1, 0);
}

}  // namespace

std::string FarMatrix::Obstacle(int matrices) {
  const std::size_t bytes = SpanBytes(4 * matrices);
  void* all = Reserve(bytes);
  if (all == MAP_FAILED) return "this machine does not hand out so much address space";
  munmap(all, bytes);
  return "";
}

FarMatrix::FarMatrix(const HostMatrix& last)
    : view_{Reserve(SpanBytes(last.rows())), last.rows(), last.cols(), kStride, last.dtype()},
      last_rows_(last.rows()) {
  if (view_.data == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  SetLast(last);
}

FarMatrix::~FarMatrix() { munmap(view_.data, SpanBytes(last_rows_)); }

void FarMatrix::SetLast(const HostMatrix& last) {
  for (std::int64_t r = 0; r < last_rows_; ++r) {
    const std::string_view row = last.RowBytes(r);
    std::memcpy(static_cast<char*>(view_.data) + r * kStride * 2, row.data(), row.size());
  }
}

HostMatrix FarMatrix::Last() const {
  HostMatrix rows(view_.dtype, last_rows_, view_.cols);
  const std::int64_t bytes = view_.cols * 2;
  for (std::int64_t r = 0; r < last_rows_; ++r) {
    std::memcpy(static_cast<char*>(rows.View().data) + r * bytes,
                static_cast<const char*>(view_.data) + r * kStride * 2,
                static_cast<std::size_t>(bytes));
  }
  return rows;
}

}  // namespace normlab::kernels
