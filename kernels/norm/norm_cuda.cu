// LayerNorm and RMSNorm on CUDA: one row in the registers of one or two warps, mean first, then the
// centred squares from the registers. The backward pass reads g and x once: column sums (dgain,
// dbias) stay in registers while a block strides over its rows, go to one partial per row group,
// and are added in a fixed order by a second launch.
#include "kernels/common/device_rows.cuh"
#include "kernels/common/portable_math.h"
#include "kernels/include/normlab_kernels_cuda.h"
#include "kernels/norm/norm_check.h"

namespace normlab::kernels {
namespace {

struct Statistics {
  double mean, rstd;
};

// ---- rows in registers -------------------------------------------------------------------------

template <class Layout>
__device__ __forceinline__ void Moments(bool centred, const RegisterRow<Layout>& x, int thread,
                                        float* mean, float* variance) {
  *mean = 0;
  if (centred) {
    float sum = 0;
    EachColumn<Layout>([&](int s, int i) { sum += x.value[s][i]; });
    *mean = ReduceRow<Layout::kThreads>(sum, Add{}) / Layout::kCols;
  }
  float squares = 0;
  EachColumn<Layout>([&](int s, int i) {
    const float deviation = Holds<Layout>(s, thread) ? x.value[s][i] - *mean : 0.0f;
    squares += deviation * deviation;
  });
  *variance = ReduceRow<Layout::kThreads>(squares, Add{}) / Layout::kCols;
}

template <class Layout>
__device__ __forceinline__ float Largest(const RegisterRow<Layout>& x) {
  float largest = 0;
  EachColumn<Layout>([&](int s, int i) { largest = Maximum{}(largest, fabsf(x.value[s][i])); });
  return ReduceRow<Layout::kThreads>(largest, Maximum{});
}

// Statistics of a row, scaled by a power of two where fp32 could not hold its squares.
template <class Layout>
__device__ __forceinline__ Statistics StatisticsOf(const normlab_norm_options& options,
                                                   const RegisterRow<Layout>& x, int thread) {
  const bool centred = options.kind == NORMLAB_LAYERNORM;
  double eps = options.eps;
  if (options.pb_relax != 0) {
    const double share = Largest(x) / 8.0;
    if (share > 0) eps *= share * share;
  }
  float mean, variance;
  Moments(centred, x, thread, &mean, &variance);
  double middle = mean, total = variance + eps;
  if (!(variance < 1e30f && (total > 1e-25 || variance > 1e-25f))) {
    const float scale = ScaleFor(Largest(x));
    RegisterRow<Layout> scaled = x;
    EachColumn<Layout>([&](int s, int i) { scaled.value[s][i] *= scale; });
    Moments(centred, scaled, thread, &mean, &variance);
    middle = double(mean) / scale;
    total = double(variance) / scale / scale + eps;
  }
  return {middle, 1 / sqrt(total)};
}

// (x - mean)·rstd in place. Where rstd is beyond fp32, in two factors that are not.
template <class Layout>
__device__ __forceinline__ void Normalize(const Statistics& row, RegisterRow<Layout>* x) {
  const bool fits = row.rstd < 1e30 && row.rstd > 1e-30;
  const float first = fits ? 1.0f : row.rstd > 1 ? 1.0e30f : 1.0e-30f;
  const float mean = static_cast<float>(row.mean * first);
  const float rstd = static_cast<float>(row.rstd / first);
  EachColumn<Layout>(
      [&](int s, int i) { x->value[s][i] = (x->value[s][i] * first - mean) * rstd; });
}

template <class Layout, class Parameter>
__device__ __forceinline__ void LoadParameter(const Parameter* parameter, int thread,
                                              float otherwise, RegisterRow<Layout>* out) {
  EachColumn<Layout>([&](int s, int i) {
    const int column = (s * Layout::kThreads + thread) * Layout::kGroup + i;
    const bool there = parameter != nullptr && Holds<Layout>(s, thread);
    out->value[s][i] = there ? LoadGlobal(parameter + column) : otherwise;
  });
}

template <class Layout, class X, class Y>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    ForwardKernel(normlab_norm_options options, normlab_norm_forward_args args) {
  const int thread = static_cast<int>(threadIdx.x) % Layout::kThreads;
  const int slot_in_block = static_cast<int>(threadIdx.x) / Layout::kThreads;
  RegisterRow<Layout> gain, bias;
  LoadParameter(static_cast<const float*>(args.gain), thread, 1.0f, &gain);
  LoadParameter(static_cast<const float*>(args.bias), thread, 0.0f, &bias);
  const std::int64_t step = std::int64_t{gridDim.x} * Layout::kRowsPerBlock;
  for (std::int64_t at = std::int64_t{blockIdx.x} * Layout::kRowsPerBlock + slot_in_block;
       at < args.x.rows; at += step) {
    RegisterRow<Layout> x;
    LoadRow(DeviceRow<X>(args.x, at), thread, &x);
    const Statistics row = StatisticsOf(options, x, thread);
    Normalize(row, &x);
    EachColumn<Layout>(
        [&](int s, int i) { x.value[s][i] = x.value[s][i] * gain.value[s][i] + bias.value[s][i]; });
    StoreRow(DeviceRow<Y>(args.y, at), thread, x);
    if (args.saved != nullptr && thread == 0) {
      float* saved = static_cast<float*>(args.saved) + at * NORMLAB_NORM_SAVED;
      StoreGlobal(saved, static_cast<float>(row.mean));
      StoreGlobal(saved + 1, static_cast<float>(row.rstd));
    }
  }
}

template <class Layout>
__device__ __forceinline__ void StoreParameter(const RegisterRow<Layout>& from, int thread,
                                               float* to) {
  EachColumn<Layout>([&](int s, int i) {
    const int column = (s * Layout::kThreads + thread) * Layout::kGroup + i;
    if (Holds<Layout>(s, thread)) StoreGlobal(to + column, from.value[s][i]);
  });
}

// kColumns: column sums are wanted; partial 2i is dgain and 2i + 1 dbias of row group i.
template <class Layout, class X, class Y, bool kColumns>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    BackwardKernel(normlab_norm_options options, normlab_norm_backward_args args) {
  const int thread = static_cast<int>(threadIdx.x) % Layout::kThreads;
  const int slot_in_block = static_cast<int>(threadIdx.x) / Layout::kThreads;
  const std::int64_t group = std::int64_t{blockIdx.x} * Layout::kRowsPerBlock + slot_in_block;
  const std::int64_t step = std::int64_t{gridDim.x} * Layout::kRowsPerBlock;
  const float* gain = static_cast<const float*>(args.gain);
  RegisterRow<Layout> dgain{}, dbias{};
  for (std::int64_t at = group; at < args.x.rows; at += step) {
    RegisterRow<Layout> g, x;
    LoadRow(DeviceRow<Y>(args.g, at), thread, &g);
    LoadRow(DeviceRow<X>(args.x, at), thread, &x);
    const float* saved = static_cast<const float*>(args.saved) + at * NORMLAB_NORM_SAVED;
    Statistics row{LoadGlobal(saved), LoadGlobal(saved + 1)};
    if (!(row.rstd < 1e30 && row.rstd > 1e-30)) row = StatisticsOf(options, x, thread);
    Normalize(row, &x);
    float one = 0, unit = 0;
    EachColumn<Layout>([&](int s, int i) {
      if (kColumns) {
        dgain.value[s][i] += g.value[s][i] * x.value[s][i];
        dbias.value[s][i] += g.value[s][i];
      }
      const int column = (s * Layout::kThreads + thread) * Layout::kGroup + i;
      if (gain != nullptr && Holds<Layout>(s, thread)) g.value[s][i] *= LoadGlobal(gain + column);
      one += g.value[s][i];
      unit += g.value[s][i] * x.value[s][i];
    });
    one = ReduceRow<Layout::kThreads>(one, Add{}) / Layout::kCols;
    unit = ReduceRow<Layout::kThreads>(unit, Add{}) / Layout::kCols;
    if (options.kind == NORMLAB_RMSNORM) one = 0;
    const float rstd = static_cast<float>(row.rstd);
    EachColumn<Layout>(
        [&](int s, int i) { x.value[s][i] = rstd * (g.value[s][i] - one - x.value[s][i] * unit); });
    StoreRow(DeviceRow<X>(args.dx, at), thread, x);
  }
  if (kColumns) {
    float* own = static_cast<float*>(args.workspace) + 2 * group * Layout::kCols;
    StoreParameter(dgain, thread, own);
    StoreParameter(dbias, thread, own + Layout::kCols);
  }
}

// ---- any width
// -----------------------------------------------------------------------------------

template <class X>
__device__ __forceinline__ Statistics AnyStatistics(const normlab_norm_options& options, const X* x,
                                                    std::int64_t cols) {
  double eps = options.eps, mean = 0;
  if (options.pb_relax != 0) {
    double largest = 0;
    EachOwnColumn(cols, [&](std::int64_t c) {
      largest = Maximum{}(largest, row::Absolute(Get<double>(x + c)));
    });
    const double share = ReduceRow<kAnyWidthBlock>(largest, Maximum{}) / 8;
    if (share > 0) eps *= share * share;
  }
  if (options.kind == NORMLAB_LAYERNORM) {
    double sum = 0;
    EachOwnColumn(cols, [&](std::int64_t c) { sum += Get<double>(x + c); });
    mean = ReduceRow<kAnyWidthBlock>(sum, Add{}) / static_cast<double>(cols);
  }
  double squares = 0;
  EachOwnColumn(cols, [&](std::int64_t c) {
    const double deviation = Get<double>(x + c) - mean;
    squares += deviation * deviation;
  });
  const double variance = ReduceRow<kAnyWidthBlock>(squares, Add{}) / static_cast<double>(cols);
  return {mean, 1 / sqrt(variance + eps)};
}

template <class Real, class X, class Y>
__global__ void __launch_bounds__(kAnyWidthBlock)
    ForwardAnyKernel(normlab_norm_options options, normlab_norm_forward_args args) {
  const Real* gain = static_cast<const Real*>(args.gain);
  const Real* bias = static_cast<const Real*>(args.bias);
  for (std::int64_t at = blockIdx.x; at < args.x.rows; at += gridDim.x) {
    const X* x = DeviceRow<X>(args.x, at);
    const Statistics row = AnyStatistics(options, x, args.x.cols);
    EachOwnColumn(args.x.cols, [&](std::int64_t c) {
      double value = (Get<double>(x + c) - row.mean) * row.rstd;
      if (gain != nullptr) value *= Get<double>(gain + c);
      if (bias != nullptr) value += Get<double>(bias + c);
      Put(DeviceRow<Y>(args.y, at) + c, value);
    });
    if (args.saved != nullptr && threadIdx.x == 0) {
      Real* saved = static_cast<Real*>(args.saved) + at * NORMLAB_NORM_SAVED;
      StoreGlobal(saved, static_cast<Real>(row.mean));
      StoreGlobal(saved + 1, static_cast<Real>(row.rstd));
    }
  }
}

// The partials of a block live in the workspace; each thread adds to its own columns only.
template <class Real, class X, class Y>
__global__ void __launch_bounds__(kAnyWidthBlock)
    BackwardAnyKernel(normlab_norm_options options, normlab_norm_backward_args args) {
  const std::int64_t cols = args.x.cols;
  const Real* gain = static_cast<const Real*>(args.gain);
  Real* dgain = nullptr;
  if (args.dgain != nullptr || args.dbias != nullptr) {
    dgain = static_cast<Real*>(args.workspace) + 2 * std::int64_t{blockIdx.x} * cols;
    EachOwnColumn(cols, [&](std::int64_t c) {
      StoreGlobal(dgain + c, Real(0));
      StoreGlobal(dgain + cols + c, Real(0));
    });
  }
  for (std::int64_t at = blockIdx.x; at < args.x.rows; at += gridDim.x) {
    const Y* g = DeviceRow<Y>(args.g, at);
    const X* x = DeviceRow<X>(args.x, at);
    const Statistics row = AnyStatistics(options, x, cols);
    double one = 0, unit = 0;
    EachOwnColumn(cols, [&](std::int64_t c) {
      const double upstream = Get<double>(g + c);
      const double value = (Get<double>(x + c) - row.mean) * row.rstd;
      if (dgain != nullptr) {
        StoreGlobal(dgain + c, static_cast<Real>(LoadGlobal(dgain + c) + upstream * value));
        StoreGlobal(dgain + cols + c, static_cast<Real>(LoadGlobal(dgain + cols + c) + upstream));
      }
      const double weighted = gain != nullptr ? upstream * Get<double>(gain + c) : upstream;
      one += weighted;
      unit += weighted * value;
    });
    one = ReduceRow<kAnyWidthBlock>(one, Add{}) / static_cast<double>(cols);
    unit = ReduceRow<kAnyWidthBlock>(unit, Add{}) / static_cast<double>(cols);
    if (options.kind == NORMLAB_RMSNORM) one = 0;
    EachOwnColumn(cols, [&](std::int64_t c) {
      double weighted = Get<double>(g + c);
      if (gain != nullptr) weighted *= Get<double>(gain + c);
      const double value = (Get<double>(x + c) - row.mean) * row.rstd;
      Put(DeviceRow<X>(args.dx, at) + c, row.rstd * (weighted - one - value * unit));
    });
  }
}

// Sum over the row groups, one thread per column: out[c] of partial `which` (0: dgain, 1: dbias).
template <class Real>
__global__ void FinishColumns(const Real* partials, std::int64_t groups, std::int64_t cols,
                              int which, Real* out) {
  const std::int64_t column = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= cols) return;
  double sum = 0;
  for (std::int64_t i = 0; i < groups; ++i) {
    sum += LoadGlobal(partials + (2 * i + which) * cols + column);
  }
  StoreGlobal(out + column, static_cast<Real>(sum));
}

// ---- launches
// ------------------------------------------------------------------------------------

template <class Real, class X, class Y>
struct ForwardLaunch {
  const normlab_norm_options& options;
  const normlab_norm_forward_args& args;
  void* stream;

  template <int kCols>
  int Width() {
    using Layout = RowLayout<kCols, kThreadsFor<kCols, 1024>, kGroupFor<X, Y>>;
    return Launch(&ForwardKernel<Layout, X, Y>, BlocksFor(args.x.rows, Layout::kRowsPerBlock),
                  Layout::kBlock, stream, options, args);
  }
  int AnyWidth() {
    return Launch(&ForwardAnyKernel<Real, X, Y>, BlocksFor(args.x.rows, 1), kAnyWidthBlock, stream,
                  options, args);
  }
};

template <class Real, class X, class Y>
struct BackwardLaunch {
  const normlab_norm_options& options;
  const normlab_norm_backward_args& args;
  void* stream;

  bool Columns() const { return args.dgain != nullptr || args.dbias != nullptr; }

  template <int kCols>
  int Width() {
    using Layout = RowLayout<kCols, kThreadsFor<kCols, 768>, kGroupFor<X, Y>>;
    const std::int64_t blocks = BlocksFor(args.x.rows, Layout::kRowsPerBlock);
    if (!Columns()) {
      return Launch(&BackwardKernel<Layout, X, Y, false>, blocks, Layout::kBlock, stream, options,
                    args);
    }
    NORMLAB_RETURN_IF_FAULT(
        Launch(&BackwardKernel<Layout, X, Y, true>, blocks, Layout::kBlock, stream, options, args));
    return Finish(blocks * Layout::kRowsPerBlock);
  }
  int AnyWidth() {
    const std::int64_t blocks = BlocksFor(args.x.rows, 1);
    NORMLAB_RETURN_IF_FAULT(
        Launch(&BackwardAnyKernel<Real, X, Y>, blocks, kAnyWidthBlock, stream, options, args));
    return Columns() ? Finish(blocks) : NORMLAB_OK;
  }
  int Finish(std::int64_t groups) {
    const Real* partials = static_cast<const Real*>(args.workspace);
    const std::int64_t cols = args.x.cols, blocks = (cols + kWarp - 1) / kWarp;
    Real* outputs[2] = {static_cast<Real*>(args.dgain), static_cast<Real*>(args.dbias)};
    for (int which = 0; which < 2; ++which) {
      if (outputs[which] == nullptr) continue;
      NORMLAB_RETURN_IF_FAULT(Launch(&FinishColumns<Real>, blocks, kWarp, stream, partials, groups,
                                     cols, which, outputs[which]));
    }
    return NORMLAB_OK;
  }
};

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int64_t NORMLAB_DEVICE(norm_workspace)(int64_t rows, int64_t cols,
                                                  normlab_dtype stream_type) {
  return 2 * 4 * BlocksFor(rows, 1) * cols * RealBytes(stream_type);
}

extern "C" int NORMLAB_DEVICE(norm_forward)(const normlab_norm_options* options,
                                            const normlab_norm_forward_args* args, void* stream) {
  NORMLAB_RETURN_IF_FAULT(CheckNormOptions(*options));
  const bool own = HasOwnKernel(args->x.cols, args->x.dtype);
  NORMLAB_RETURN_IF_FAULT(CheckNormForward(*args, own ? 16 : 0));
  if (args->x.dtype == NORMLAB_F64) {
    return ForwardLaunch<double, double, double>{*options, *args, stream}.AnyWidth();
  }
  if (args->x.dtype == NORMLAB_BF16) {
    return DispatchWidth(args->x.cols, ForwardLaunch<float, Bf16, Bf16>{*options, *args, stream});
  }
  if (args->y.dtype == NORMLAB_BF16) {
    return DispatchWidth(args->x.cols, ForwardLaunch<float, float, Bf16>{*options, *args, stream});
  }
  return DispatchWidth(args->x.cols, ForwardLaunch<float, float, float>{*options, *args, stream});
}

extern "C" int NORMLAB_DEVICE(norm_backward)(const normlab_norm_options* options,
                                             const normlab_norm_backward_args* args, void* stream) {
  NORMLAB_RETURN_IF_FAULT(CheckNormOptions(*options));
  const bool own = HasOwnKernel(args->x.cols, args->x.dtype);
  NORMLAB_RETURN_IF_FAULT(CheckNormBackward(*args, own ? 16 : 0));
  if (args->x.dtype == NORMLAB_F64) {
    return BackwardLaunch<double, double, double>{*options, *args, stream}.AnyWidth();
  }
  if (args->x.dtype == NORMLAB_BF16) {
    return DispatchWidth(args->x.cols, BackwardLaunch<float, Bf16, Bf16>{*options, *args, stream});
  }
  if (args->g.dtype == NORMLAB_BF16) {
    return DispatchWidth(args->x.cols, BackwardLaunch<float, float, Bf16>{*options, *args, stream});
  }
  return DispatchWidth(args->x.cols, BackwardLaunch<float, float, float>{*options, *args, stream});
}
