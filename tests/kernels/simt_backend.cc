// The CUDA kernels under the SIMT harness: announces every buffer, so that an access outside them
// fails the test.
#include <deque>

#include "kernels/testing/simt.h"
#include "kernels/testing/simt_kernels.h"
#include "tests/kernels/backends.h"
#include "tests/kernels/host_matrix.h"

namespace normlab::kernels {
namespace {

std::int64_t RealSize(normlab_dtype stream) { return stream == NORMLAB_F64 ? 8 : 4; }
std::int64_t ElementSize(normlab_dtype dtype) {
  return dtype == NORMLAB_BF16 ? 2 : RealSize(dtype);
}

class Announced {
 public:
  void Matrix(const normlab_matrix& m) {
    if (m.data == nullptr || m.rows == 0) return;
    buffers_.emplace_back(m.data, ((m.rows - 1) * m.row_stride + m.cols) * ElementSize(m.dtype));
  }
  void Bytes(const void* data, std::int64_t bytes) {
    if (data != nullptr && bytes > 0) buffers_.emplace_back(data, bytes);
  }

 private:
  std::deque<simt::Buffer> buffers_;
};

class SimtBackend : public Backend {
 public:
  std::string Name() const override { return "simt"; }
  std::int64_t MostElements() const override { return 200000; }

  int GeoNormForward(const normlab_geonorm_options& options,
                     const normlab_geonorm_forward_args& given) override {
    normlab_geonorm_forward_args args = given;
    args.probes = nullptr;
    if (args.zero_rows != nullptr) *args.zero_rows = 0;
    Announced buffers;
    for (const normlab_matrix& m : {args.x, args.v, args.y}) buffers.Matrix(m);
    buffers.Bytes(args.saved, args.x.rows * NORMLAB_GEONORM_SAVED * RealSize(args.x.dtype));
    buffers.Bytes(args.zero_rows, 8);
    return normlab_simt_geonorm_forward(&options, &args, nullptr);
  }
  int GeoNormBackward(const normlab_geonorm_options& options,
                      const normlab_geonorm_backward_args& args) override {
    Announced buffers;
    for (const normlab_matrix& m : {args.g, args.x, args.v, args.dx, args.dv}) buffers.Matrix(m);
    buffers.Bytes(args.saved, args.x.rows * NORMLAB_GEONORM_SAVED * RealSize(args.x.dtype));
    buffers.Bytes(args.dangle, 24);
    const std::int64_t bytes = normlab_simt_geonorm_workspace(args.x.rows);
    std::vector<double> workspace(static_cast<std::size_t>(bytes / 8 + 1));
    buffers.Bytes(workspace.data(), bytes);
    return normlab_simt_geonorm_backward(&options, &args, workspace.data(), nullptr);
  }
  int NormForward(const normlab_norm_options& options,
                  const normlab_norm_forward_args& args) override {
    const std::int64_t real = RealSize(args.x.dtype);
    Announced buffers;
    for (const normlab_matrix& m : {args.x, args.y}) buffers.Matrix(m);
    buffers.Bytes(args.gain, args.x.cols * real);
    buffers.Bytes(args.bias, args.x.cols * real);
    buffers.Bytes(args.saved, args.x.rows * NORMLAB_NORM_SAVED * real);
    return normlab_simt_norm_forward(&options, &args, nullptr);
  }
  int NormBackward(const normlab_norm_options& options, normlab_norm_backward_args args) override {
    const std::int64_t real = RealSize(args.x.dtype);
    Announced buffers;
    for (const normlab_matrix& m : {args.g, args.x, args.dx}) buffers.Matrix(m);
    for (const void* p :
         {args.gain, static_cast<const void*>(args.dgain), static_cast<const void*>(args.dbias)}) {
      buffers.Bytes(p, args.x.cols * real);
    }
    buffers.Bytes(args.saved, args.x.rows * NORMLAB_NORM_SAVED * real);
    const std::int64_t bytes = normlab_simt_norm_workspace(args.x.rows, args.x.cols, args.x.dtype);
    std::vector<double> workspace(static_cast<std::size_t>(bytes / 8 + 1));
    buffers.Bytes(workspace.data(), bytes);
    args.workspace = workspace.data();
    return normlab_simt_norm_backward(&options, &args, nullptr);
  }
};

}  // namespace

std::unique_ptr<Backend> MakeSimtBackend() { return std::make_unique<SimtBackend>(); }

}  // namespace normlab::kernels
