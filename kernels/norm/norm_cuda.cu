// LayerNorm and RMSNorm on CUDA: one row in the registers of one to eight warps. The backward pass
// reads g and x once: column sums (dgain, dbias) stay in registers while a thread strides over its
// rows, go to one partial per row group, and are added in a fixed order by a second launch.
#include "kernels/common/partial_sums.cuh"
#include "kernels/include/normlab_kernels_cuda.h"
#include "kernels/norm/norm_check.h"
#include "kernels/norm/norm_device.cuh"

namespace normlab::kernels {
namespace {

template <class Layout, class X, class Y>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    ForwardKernel(normlab_norm_options options, normlab_norm_forward_args args) {
  const OwnRows<Layout> own;
  RegisterRow<Layout> gain, bias;
  LoadParameter(args.gain, own.thread, 1.0f, &gain);
  LoadParameter(args.bias, own.thread, 0.0f, &bias);
  for (std::int64_t at = own.group; at < args.x.rows; at += own.step) {
    RegisterRow<Layout> x;
    LoadRow(DeviceRow<X>(args.x, at), own.thread, &x);
    const Statistics row = StatisticsOf(options, own.thread, &x);
    Normalize(row, own.thread, &x);
    EachColumn<Layout>([&](int s, int i) {
      x.value[s][i] = MultiplyAdd(x.value[s][i], gain.value[s][i], bias.value[s][i]);
    });
    StoreRow(DeviceRow<Y>(args.y, at), own.thread, x);
    if (args.saved != nullptr && own.thread == 0) SaveStatistics<float>(row, args.saved, at);
  }
}

// kColumns: column sums are wanted; partial 0 is dgain and 1 dbias.
template <class Layout, class X, class Y, bool kColumns>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    BackwardKernel(normlab_norm_options options, normlab_norm_backward_args args) {
  const OwnRows<Layout> own;
  const bool centred = options.kind == NORMLAB_LAYERNORM;
  NormSums<Layout> sums{};
  for (std::int64_t at = own.group; at < args.x.rows; at += own.step) {
    RegisterRow<Layout> g, x;
    LoadRow<true>(DeviceRow<Y>(args.g, at), own.thread, &g);
    LoadRow<true>(DeviceRow<X>(args.x, at), own.thread, &x);
    const Statistics row = SavedStatistics(options, args.saved, at, own.thread, &x);
    Normalize(row, own.thread, &x);
    ThroughNorm(centred, row, args.gain, own.thread, x, &g, kColumns ? &sums : nullptr);
    StoreRow(DeviceRow<X>(args.dx, at), own.thread, g);
  }
  if (kColumns) {
    float* partials = static_cast<float*>(args.workspace) + 2 * own.group * Layout::kCols;
    StoreRow(partials, own.thread, sums.gain);
    StoreRow(partials + Layout::kCols, own.thread, sums.bias);
  }
}

// ---- any width ---------------------------------------------------------------------------------

template <class Real, class X, class Y>
__global__ void __launch_bounds__(kAnyWidthBlock, 1)
    ForwardAnyKernel(normlab_norm_options options, normlab_norm_forward_args args) {
  for (std::int64_t at = blockIdx.x; at < args.x.rows; at += gridDim.x) {
    const X* x = DeviceRow<X>(args.x, at);
    const Statistics row =
        AnyStatistics(options, args.x.cols, [&](std::int64_t c) { return Get<double>(x + c); });
    EachOwnColumn(args.x.cols, [&](std::int64_t c) {
      const double unit = (Get<double>(x + c) - row.mean) * row.rstd;
      Put(DeviceRow<Y>(args.y, at) + c,
          unit * ParameterAt<Real>(args.gain, c, 1) + ParameterAt<Real>(args.bias, c, 0));
    });
    if (args.saved != nullptr && threadIdx.x == 0) SaveStatistics<Real>(row, args.saved, at);
  }
}

template <class Real, class X, class Y>
__global__ void __launch_bounds__(kAnyWidthBlock, 1)
    BackwardAnyKernel(normlab_norm_options options, normlab_norm_backward_args args, bool columns) {
  const std::int64_t cols = args.x.cols;
  Real* partials = nullptr;
  if (columns) {
    partials = static_cast<Real*>(args.workspace) + 2 * std::int64_t{blockIdx.x} * cols;
    EachOwnColumn(2 * cols, [&](std::int64_t c) { StoreGlobal(partials + c, Real(0)); });
    __syncthreads();  // zeroed by other threads than those that add
  }
  for (std::int64_t at = blockIdx.x; at < args.x.rows; at += gridDim.x) {
    const Y* g = DeviceRow<Y>(args.g, at);
    const X* x = DeviceRow<X>(args.x, at);
    const Statistics row =
        AnyStatistics(options, cols, [&](std::int64_t c) { return Get<double>(x + c); });
    const auto unit = [&](std::int64_t c) { return (Get<double>(x + c) - row.mean) * row.rstd; };
    const auto weighted = [&](std::int64_t c) {
      return Get<double>(g + c) * ParameterAt<Real>(args.gain, c, 1);
    };
    const AnyDots dots = DotsOf(options.kind, cols, weighted, unit);
    EachOwnColumn(cols, [&](std::int64_t c) {
      if (columns) {
        AddTo(partials + c, Get<double>(g + c) * unit(c));
        AddTo(partials + cols + c, Get<double>(g + c));
      }
      Put(DeviceRow<X>(args.dx, at) + c,
          row.rstd * (weighted(c) - dots.of_one - unit(c) * dots.of_unit));
    });
  }
}

// ---- launches ----------------------------------------------------------------------------------

template <class Pair>
struct ForwardLaunch {
  using X = typename Pair::Stream;
  using Y = typename Pair::Branch;
  const normlab_norm_options& options;
  const normlab_norm_forward_args& args;
  void* stream;

  template <int kCols>
  int Width() {
    using Layout = NormForwardLayout<kCols>;
    return Launch(&ForwardKernel<Layout, X, Y>, BlocksFor<Layout>(args.x.rows), Layout::kBlock,
                  stream, options, args);
  }
  int AnyWidth() {
    return Launch(&ForwardAnyKernel<typename Pair::Real, X, Y>, AnyWidthBlocksFor(args.x.rows),
                  kAnyWidthBlock, stream, options, args);
  }
};

template <class Pair>
struct BackwardLaunch {
  using Real = typename Pair::Real;
  using X = typename Pair::Stream;
  using Y = typename Pair::Branch;
  const normlab_norm_options& options;
  const normlab_norm_backward_args& args;
  void* stream;

  bool Columns() const { return args.dgain != nullptr || args.dbias != nullptr; }

  template <int kCols>
  int Width() {
    using Layout = NormBackwardLayout<kCols>;
    const std::int64_t blocks = BlocksFor<Layout>(args.x.rows);
    if (!Columns()) {
      return Launch(&BackwardKernel<Layout, X, Y, false>, blocks, Layout::kBlock, stream, options,
                    args);
    }
    NORMLAB_RETURN_IF_FAULT(
        Launch(&BackwardKernel<Layout, X, Y, true>, blocks, Layout::kBlock, stream, options, args));
    return Finish(blocks * Layout::kRowsPerBlock);
  }
  int AnyWidth() {
    const std::int64_t blocks = AnyWidthBlocksFor(args.x.rows);
    NORMLAB_RETURN_IF_FAULT(Launch(&BackwardAnyKernel<Real, X, Y>, blocks, kAnyWidthBlock, stream,
                                   options, args, Columns()));
    return Columns() ? Finish(blocks) : NORMLAB_OK;
  }
  int Finish(std::int64_t groups) {
    ColumnOutputs<Real> outputs{static_cast<const Real*>(args.workspace), groups, args.x.cols, 2};
    outputs.Want(0, args.dgain);
    outputs.Want(1, args.dbias);
    return LaunchAddColumns(outputs, stream);
  }
};

int CheckAlignment(const void* gain, const void* bias, int alignment) {
  NORMLAB_RETURN_IF_FAULT(CheckParameter("gain", gain, alignment));
  return CheckParameter("bias", bias, alignment);
}

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int64_t NORMLAB_DEVICE(norm_workspace)(int64_t rows, int64_t cols,
                                                  normlab_dtype stream_type) {
  return NormBackwardGroupsFor(rows, cols, stream_type) * 2 * cols * RealBytes(stream_type);
}

extern "C" int NORMLAB_DEVICE(norm_forward)(const normlab_norm_options* options,
                                            const normlab_norm_forward_args* args, void* stream) {
  NORMLAB_RETURN_IF_FAULT(CheckNormOptions(*options));
  const int alignment = AlignmentFor(args->x.cols, args->x.dtype);
  NORMLAB_RETURN_IF_FAULT(CheckNormForward(*args, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckAlignment(args->gain, args->bias, alignment));
  return DispatchTypes(args->x.dtype, args->y.dtype, [&](auto types) {
    using Pair = decltype(types);
    return DispatchWidthOf<Pair>(args->x.cols, ForwardLaunch<Pair>{*options, *args, stream});
  });
}

extern "C" int NORMLAB_DEVICE(norm_backward)(const normlab_norm_options* options,
                                             const normlab_norm_backward_args* args, void* stream) {
  NORMLAB_RETURN_IF_FAULT(CheckNormOptions(*options));
  const int alignment = AlignmentFor(args->x.cols, args->x.dtype);
  NORMLAB_RETURN_IF_FAULT(CheckNormBackward(*args, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckAlignment(args->gain, nullptr, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckParameter("workspace", args->workspace, alignment));
  return DispatchTypes(args->x.dtype, args->g.dtype, [&](auto types) {
    using Pair = decltype(types);
    return DispatchWidthOf<Pair>(args->x.cols, BackwardLaunch<Pair>{*options, *args, stream});
  });
}
