// More than a million rows in the memory of the first GPU.
#include <cuda_runtime_api.h>

#include "kernels/include/normlab_kernels_cuda.h"
#include "tests/kernels/cuda_or_stop.h"
#include "tests/kernels/far_matrix.h"

namespace normlab::kernels {
namespace {

constexpr std::int64_t kRows = 1100000;  // of 2048 columns or more: over 2^31 elements

std::size_t Bytes(std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(rows * cols * 2);  // of bf16
}

void* LastRows(const normlab_matrix& matrix, std::int64_t rows) {
  return static_cast<char*>(matrix.data) + Bytes(matrix.rows - rows, matrix.cols);
}

}  // namespace

std::string FarMatrix::Obstacle(int matrices) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  const std::int64_t needed = matrices * 5 * kGiB;
  std::int64_t free_bytes = 0, total_bytes = 0;
  if (normlab_cuda_device_memory(0, &free_bytes, &total_bytes) != NORMLAB_OK) return "";
  if (free_bytes >= needed) return "";
  return "it takes " + std::to_string(needed / kGiB) + " GiB of the GPU's memory, of which " +
         std::to_string(free_bytes / kGiB) + " GiB are free";
}

FarMatrix::FarMatrix(const HostMatrix& last)
    : view_{nullptr, kRows, last.cols(), last.cols(), last.dtype()}, last_rows_(last.rows()) {
  const std::size_t bytes = Bytes(kRows, last.cols());
  OrStop(cudaMalloc(&view_.data, bytes), "cudaMalloc");
  OrStop(cudaMemset(view_.data, 0, bytes), "cudaMemset");
  SetLast(last);
}

FarMatrix::~FarMatrix() { cudaFree(view_.data); }

void FarMatrix::SetLast(const HostMatrix& last) {
  OrStop(cudaMemcpy(LastRows(view_, last_rows_), last.View().data, Bytes(last_rows_, view_.cols),
                    cudaMemcpyHostToDevice),
         "copy to the GPU");
}

HostMatrix FarMatrix::Last() const {
  HostMatrix rows(view_.dtype, last_rows_, view_.cols);
  OrStop(cudaMemcpy(rows.View().data, LastRows(view_, last_rows_), Bytes(last_rows_, view_.cols),
                    cudaMemcpyDeviceToHost),
         "copy from the GPU");
  return rows;
}

}  // namespace normlab::kernels
