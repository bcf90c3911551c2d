// Residual updates on CUDA, forward: stream = post(a·x + b·branch(g)), next = next(stream as
// stored). A row stays in registers through all of it, so that x and g are read once, and stream
// and next written once.
#include "kernels/common/row_probes.cuh"
#include "kernels/include/normlab_kernels_cuda.h"
#include "kernels/residual/residual_check.h"
#include "kernels/residual/residual_device.cuh"

namespace normlab::kernels {
namespace {

template <class Layout>
__device__ __forceinline__ void NormInPlace(const normlab_norm_stage& stage, std::int64_t at,
                                            int thread, RegisterRow<Layout>* row) {
  const Statistics statistics = StatisticsOf(stage.options, thread, row);
  Normalize(statistics, thread, row);
  ApplyParameters(stage.gain, stage.bias, thread, row);
  if (stage.saved != nullptr && thread == 0) SaveStatistics<float>(statistics, stage.saved, at);
}

template <class Layout, class X, class G, ResidualShape kShape>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    ForwardKernel(normlab_residual_form form, normlab_residual_forward_args args,
                  const void* learned) {
  const OwnRows<Layout> own;
  const double factor = FactorOf<float>(form, learned);
  for (std::int64_t at = own.group; at < args.x.rows; at += own.step) {
    RegisterRow<Layout> x, row;
    LoadRow(DeviceRow<X>(args.x, at), own.thread, &x);
    LoadRow(DeviceRow<G>(args.g, at), own.thread, &row);
    if (kShape == ResidualShape::kBranch) NormInPlace(form.branch, at, own.thread, &row);
    Join(form, factor, own.thread, x, &row);
    if (kShape == ResidualShape::kPost) NormInPlace(form.post, at, own.thread, &row);
    RoundTo<X>(&row);
    StoreRow(DeviceRow<X>(args.stream, at), own.thread, row);
    if (args.probes != nullptr) {
      float sums[2];
      MagnitudeSums(row, sums);
      const double angle = AngleBetween(x, row, sums[1]);
      if (own.thread == 0) {
        StoreProbes<float>(args.probes, at, sums[0] / Layout::kCols, sums[1], angle);
      }
    }
    if (form.next.present != 0) {
      NormInPlace(form.next, at, own.thread, &row);
      StoreRow(DeviceRow<G>(args.next, at), own.thread, row);
    }
  }
}

// ---- any width ---------------------------------------------------------------------------------

template <class Real>
__device__ __forceinline__ void Save(const normlab_norm_stage& stage, const Statistics& row,
                                     std::int64_t at) {
  if (stage.present != 0 && stage.saved != nullptr && threadIdx.x == 0) {
    SaveStatistics<Real>(row, stage.saved, at);
  }
}

template <class Real, class X, class G>
__global__ void __launch_bounds__(kAnyWidthBlock, 1)
    ForwardAnyKernel(normlab_residual_form form, normlab_residual_forward_args args,
                     const void* learned) {
  const std::int64_t cols = args.x.cols;
  const double factor = FactorOf<Real>(form, learned);
  for (std::int64_t at = blockIdx.x; at < args.x.rows; at += gridDim.x) {
    X* stream = DeviceRow<X>(args.stream, at);
    const AnyRow<Real, X, G> row(form, factor, DeviceRow<X>(args.x, at), DeviceRow<G>(args.g, at),
                                 cols);
    Save<Real>(form.branch, row.branch, at);
    Statistics post{0, 1}, next{0, 1};
    if (form.post.present != 0) {
      post = AnyStatistics(form.post.options, cols, [&](std::int64_t c) { return row.Sum(c); });
    }
    Save<Real>(form.post, post, at);
    EachOwnColumn(cols, [&](std::int64_t c) {
      const double sum = row.Sum(c);
      Put(stream + c, form.post.present != 0 ? ApplyAny<Real>(form.post, post, c, sum) : sum);
    });
    if (form.next.present != 0) {
      const auto stored = [&](std::int64_t c) { return Get<double>(stream + c); };
      next = AnyStatistics(form.next.options, cols, stored);
      EachOwnColumn(cols, [&](std::int64_t c) {
        Put(DeviceRow<G>(args.next, at) + c, ApplyAny<Real>(form.next, next, c, stored(c)));
      });
    }
    Save<Real>(form.next, next, at);
    if (args.probes != nullptr) {
      double sums[2];
      MagnitudeSumsAny(stream, cols, sums);
      const double angle = AngleBetweenAny<X>(row.x, stream, sums[1], cols);
      if (threadIdx.x == 0) {
        StoreProbes<Real>(args.probes, at, sums[0] / static_cast<double>(cols), sums[1], angle);
      }
    }
  }
}

// ---- launches ----------------------------------------------------------------------------------

template <class Pair>
struct ForwardLaunch {
  using X = typename Pair::Stream;
  using G = typename Pair::Branch;
  const normlab_residual_form& form;
  const normlab_residual_forward_args& args;
  const void* learned;
  void* stream;

  template <ResidualShape kShape, int kCols>
  int Width() {
    using Layout = NormForwardLayout<kCols>;
    return Launch(&ForwardKernel<Layout, X, G, kShape>, BlocksFor<Layout>(args.x.rows),
                  Layout::kBlock, stream, form, args, learned);
  }
  int AnyWidth() {
    return Launch(&ForwardAnyKernel<typename Pair::Real, X, G>, AnyWidthBlocksFor(args.x.rows),
                  kAnyWidthBlock, stream, form, args, learned);
  }
};

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int NORMLAB_DEVICE(residual_forward)(const normlab_residual_form* form,
                                                const normlab_residual_forward_args* args,
                                                const void* learned_b, void* stream) {
  const int alignment = AlignmentFor(args->x.cols, args->x.dtype);
  NORMLAB_RETURN_IF_FAULT(CheckResidualForward(*form, *args, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckStages(*form, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("learned b", learned_b, args->x.dtype));
  return DispatchTypes(args->x.dtype, args->g.dtype, [&](auto types) {
    using Pair = decltype(types);
    return DispatchForm<Pair>(*form, args->x.cols,
                              ForwardLaunch<Pair>{*form, *args, learned_b, stream});
  });
}
