// GeoNorm on CUDA: one row in the registers of one or two warps, 16-byte accesses, fp32 sums with
// |u|^2 in a second pass over the registers, six scalars per row in fp64 (formulas in
// geonorm_row.h). Each input is read once and each output written once.
//
// Rows whose sums leave the safe range of fp32 are scaled by powers of two, which is exact, and
// summed again from the registers. Widths without a kernel of their own, and fp64, take the kernels
// for any width: a block per row, the row read again for each pass.
#include "kernels/geonorm/geonorm_check.h"
#include "kernels/geonorm/geonorm_device.cuh"
#include "kernels/include/normlab_kernels_cuda.h"

namespace normlab::kernels {
namespace {

// ---- rows in registers -------------------------------------------------------------------------

template <class Layout>
__device__ __forceinline__ ScaledSums<float> SumRow(const RegisterRow<Layout>& x,
                                                    const RegisterRow<Layout>& v) {
  float xx = 0, xv = 0, uu = 0;
  EachColumn<Layout>([&](int s, int i) {
    xx += x.value[s][i] * x.value[s][i];
    xv += x.value[s][i] * v.value[s][i];
  });
  ScaledSums<float> sums{ReduceRow<Layout::kThreads>(xx, Add{}), 0, 0, 1, 1};
  const float dot = ReduceRow<Layout::kThreads>(xv, Add{});
  sums.beta = sums.a != 0 ? dot / sums.a : 0.0f;
  const float beta = sums.beta;
  EachColumn<Layout>([&](int s, int i) {
    const float u = v.value[s][i] - beta * x.value[s][i];
    uu += u * u;
  });
  sums.u_squared = ReduceRow<Layout::kThreads>(uu, Add{});
  return sums;
}

template <class Layout>
__device__ __forceinline__ float ScaleInPlace(RegisterRow<Layout>* row_values) {
  float largest = 0;
  EachColumn<Layout>(
      [&](int s, int i) { largest = Maximum{}(largest, fabsf(row_values->value[s][i])); });
  const float scale = ScaleFor(ReduceRow<Layout::kThreads>(largest, Maximum{}));
  EachColumn<Layout>([&](int s, int i) { row_values->value[s][i] *= scale; });
  return scale;
}

// Sums of a row; where fp32 could not hold them, x and v are scaled in place first. All threads of
// the row take the same way.
template <class Layout>
__device__ __forceinline__ ScaledSums<float> SafeSums(const ScaledSums<float>& first,
                                                      RegisterRow<Layout>* x,
                                                      RegisterRow<Layout>* v) {
  if (InRange(first)) return first;
  const float x_scale = ScaleInPlace(x), v_scale = ScaleInPlace(v);
  ScaledSums<float> sums = SumRow(*x, *v);
  sums.x_scale = x_scale;
  sums.v_scale = v_scale;
  return sums;
}

template <class Layout, class X, class V>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    ForwardKernel(Rule rule, normlab_geonorm_forward_args args) {
  const int thread = static_cast<int>(threadIdx.x) % Layout::kThreads;
  const int slot_in_block = static_cast<int>(threadIdx.x) / Layout::kThreads;
  const std::int64_t step = std::int64_t{gridDim.x} * Layout::kRowsPerBlock;
  for (std::int64_t at = std::int64_t{blockIdx.x} * Layout::kRowsPerBlock + slot_in_block;
       at < args.x.rows; at += step) {
    RegisterRow<Layout> x, v;
    LoadRow(DeviceRow<X>(args.x, at), thread, &x);
    LoadRow(DeviceRow<V>(args.v, at), thread, &v);
    const ScaledSums<float> sums = SafeSums(SumRow(x, v), &x, &v);
    float of_x = 1, of_v = 0;
    if (sums.a != 0) {
      const Curve row_curve = CurveOf(rule, sums);
      const double t = row_curve.curve.t;
      of_x = static_cast<float>((row_curve.curve.c - t * row_curve.beta) / sums.x_scale);
      of_v = static_cast<float>(t / sums.v_scale);
    } else if (args.zero_rows != nullptr && thread == 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(args.zero_rows), 1ull);
    }
    const bool turns = of_v != 0;  // a row that stays does so whatever v holds
    EachColumn<Layout>([&](int s, int i) {
      x.value[s][i] *= of_x;
      if (turns) x.value[s][i] += of_v * v.value[s][i];
    });
    StoreRow(DeviceRow<X>(args.y, at), thread, x);
    if (args.saved != nullptr && thread == 0) SaveRow(rule, args.saved, at, sums);
  }
}

// Coefficients of the three terms of dv and the four of dx, for rows as scaled.
struct Coefficients {
  float t, across_x, turn, c, across_u, shrink, beta_out, beta_in;
};

template <class Real>
__device__ __forceinline__ Coefficients Combine(const Curve& row_curve,
                                                const ScaledSums<Real>& sums, double gx,
                                                double gu) {
  const row::GeoCurve<double>& curve = row_curve.curve;
  const double a = row_curve.a;
  const double slope = curve.dc * gx + curve.dt * gu;
  const double across = -curve.t * gx / a;
  return {static_cast<float>(curve.t),
          static_cast<float>(across / sums.x_scale),
          static_cast<float>(2 * slope / a / sums.v_scale),
          static_cast<float>(curve.c),
          static_cast<float>(across / sums.v_scale),
          static_cast<float>(-2 * row_curve.p * slope / a / sums.x_scale),
          static_cast<float>(row_curve.beta),
          static_cast<float>(sums.beta)};
}

// dangle: this row's share is added to its block's partial by one thread.
template <class Layout, class X, class V, bool kAngle>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    BackwardKernel(Rule rule, normlab_geonorm_backward_args args, double* partials) {
  const int thread = static_cast<int>(threadIdx.x) % Layout::kThreads;
  const int slot_in_block = static_cast<int>(threadIdx.x) / Layout::kThreads;
  const std::int64_t first = std::int64_t{blockIdx.x} * Layout::kRowsPerBlock + slot_in_block;
  const std::int64_t step = std::int64_t{gridDim.x} * Layout::kRowsPerBlock;
  double dangle[3] = {0, 0, 0};
  for (std::int64_t at = first; at < args.x.rows; at += step) {
    RegisterRow<Layout> g, x, v;
    LoadRow(DeviceRow<X>(args.g, at), thread, &g);
    LoadRow(DeviceRow<X>(args.x, at), thread, &x);
    LoadRow(DeviceRow<V>(args.v, at), thread, &v);
    const float* saved = static_cast<const float*>(args.saved) + at * NORMLAB_GEONORM_SAVED;
    const ScaledSums<float> kept{LoadGlobal(saved), LoadGlobal(saved + 1), LoadGlobal(saved + 2), 1,
                                 1};
    const ScaledSums<float> sums = SafeSums(kept, &x, &v);

    float along_x = 0, along_u = 0;
    EachColumn<Layout>([&](int s, int i) {
      along_x += g.value[s][i] * x.value[s][i];
      along_u += g.value[s][i] * (v.value[s][i] - sums.beta * x.value[s][i]);
    });
    const double gx = ReduceRow<Layout::kThreads>(along_x, Add{}) / sums.x_scale;
    const double gu = ReduceRow<Layout::kThreads>(along_u, Add{}) / sums.v_scale;
    Coefficients k{0, 0, 0, 1, 0, 0, 0, 0};
    if (sums.a != 0) {
      const Curve row_curve = CurveOf(rule, sums);
      k = Combine(row_curve, sums, gx, gu);
      if (kAngle) row::AddAngleGradients(rule, row_curve.curve, gx, gu, row_curve.p, dangle);
    }
    const bool zero = sums.a == 0;
    EachColumn<Layout>([&](int s, int i) {
      const float upstream = g.value[s][i], value = x.value[s][i];
      const float u = v.value[s][i] - k.beta_in * value;
      const float of_v = k.t * upstream + k.across_x * value + k.turn * u;
      const float of_x = k.c * upstream + k.across_u * u + k.shrink * value - k.beta_out * of_v;
      v.value[s][i] = zero ? 0.0f : of_v;
      x.value[s][i] = zero ? upstream : of_x;
    });
    StoreRow(DeviceRow<V>(args.dv, at), thread, v);
    StoreRow(DeviceRow<X>(args.dx, at), thread, x);
  }
  if (kAngle && thread == 0) {
    double* own = partials + 3 * (std::int64_t{blockIdx.x} * Layout::kRowsPerBlock + slot_in_block);
    for (int i = 0; i < 3; ++i) StoreGlobal(own + i, dangle[i]);
  }
}

// ---- any width
// -----------------------------------------------------------------------------------

// Real is double here for every storage type: nothing leaves its range, and these widths are not
// what anyone trains at.
template <class X, class V>
__device__ __forceinline__ ScaledSums<double> SumAnyRow(const X* x, const V* v, std::int64_t cols) {
  double xx = 0, xv = 0, uu = 0;
  EachOwnColumn(cols, [&](std::int64_t c) {
    const double value = Get<double>(x + c);
    xx += value * value;
    xv += value * Get<double>(v + c);
  });
  ScaledSums<double> sums{ReduceRow<kAnyWidthBlock>(xx, Add{}), 0, 0, 1, 1};
  const double dot = ReduceRow<kAnyWidthBlock>(xv, Add{});
  sums.beta = sums.a != 0 ? dot / sums.a : 0.0;
  EachOwnColumn(cols, [&](std::int64_t c) {
    const double u = Get<double>(v + c) - sums.beta * Get<double>(x + c);
    uu += u * u;
  });
  sums.u_squared = ReduceRow<kAnyWidthBlock>(uu, Add{});
  return sums;
}

template <class Real, class X, class V>
__global__ void __launch_bounds__(kAnyWidthBlock)
    ForwardAnyKernel(Rule rule, normlab_geonorm_forward_args args) {
  for (std::int64_t at = blockIdx.x; at < args.x.rows; at += gridDim.x) {
    const X* x = DeviceRow<X>(args.x, at);
    const V* v = DeviceRow<V>(args.v, at);
    X* y = DeviceRow<X>(args.y, at);
    const ScaledSums<double> sums = SumAnyRow(x, v, args.x.cols);
    double of_x = 1, of_v = 0;
    if (sums.a != 0) {
      const Curve row_curve = CurveOf(rule, sums);
      of_v = row_curve.curve.t;
      of_x = row_curve.curve.c - of_v * row_curve.beta;
    } else if (args.zero_rows != nullptr && threadIdx.x == 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(args.zero_rows), 1ull);
    }
    EachOwnColumn(args.x.cols, [&](std::int64_t c) {
      double value = of_x * Get<double>(x + c);
      if (of_v != 0) value += of_v * Get<double>(v + c);
      Put(y + c, value);
    });
    if (args.saved != nullptr && threadIdx.x == 0) {
      SaveRow<Real>(rule, args.saved, at,
                    {static_cast<Real>(sums.a), static_cast<Real>(sums.beta),
                     static_cast<Real>(sums.u_squared), 1, 1});
    }
  }
}

// Works the sums out again: reading them back would lose what fp32 cannot hold.
template <class X, class V>
__global__ void __launch_bounds__(kAnyWidthBlock)
    BackwardAnyKernel(Rule rule, normlab_geonorm_backward_args args, double* partials) {
  double dangle[3] = {0, 0, 0};
  for (std::int64_t at = blockIdx.x; at < args.x.rows; at += gridDim.x) {
    const X* g = DeviceRow<X>(args.g, at);
    const X* x = DeviceRow<X>(args.x, at);
    const V* v = DeviceRow<V>(args.v, at);
    const ScaledSums<double> sums = SumAnyRow(x, v, args.x.cols);
    double along_x = 0, along_u = 0;
    EachOwnColumn(args.x.cols, [&](std::int64_t c) {
      const double upstream = Get<double>(g + c), value = Get<double>(x + c);
      along_x += upstream * value;
      along_u += upstream * (Get<double>(v + c) - sums.beta * value);
    });
    const double gx = ReduceRow<kAnyWidthBlock>(along_x, Add{});
    const double gu = ReduceRow<kAnyWidthBlock>(along_u, Add{});
    const bool zero = sums.a == 0;
    Curve row_curve{};
    if (!zero) row_curve = CurveOf(rule, sums);
    const row::GeoCurve<double>& curve = row_curve.curve;
    const double slope = curve.dc * gx + curve.dt * gu, a = zero ? 1 : row_curve.a;
    const double across = -curve.t * gx / a;
    if (!zero) row::AddAngleGradients(rule, curve, gx, gu, row_curve.p, dangle);
    EachOwnColumn(args.x.cols, [&](std::int64_t c) {
      const double upstream = Get<double>(g + c), value = Get<double>(x + c);
      const double u = Get<double>(v + c) - sums.beta * value;
      const double of_v = curve.t * upstream + across * value + 2 * slope / a * u;
      const double of_x =
          curve.c * upstream + across * u - 2 * row_curve.p * slope / a * value - sums.beta * of_v;
      Put(DeviceRow<V>(args.dv, at) + c, zero ? 0.0 : of_v);
      Put(DeviceRow<X>(args.dx, at) + c, zero ? upstream : of_x);
    });
  }
  if (partials != nullptr && threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) StoreGlobal(partials + 3 * std::int64_t{blockIdx.x} + i, dangle[i]);
  }
}

// Partials of dangle, added in their order by one thread per parameter.
__global__ void FinishAngle(const double* partials, std::int64_t count, double* out) {
  if (threadIdx.x >= 3) return;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += LoadGlobal(partials + 3 * i + threadIdx.x);
  StoreGlobal(out + threadIdx.x, sum);
}

// ---- launches
// ------------------------------------------------------------------------------------

template <class Real, class X, class V>
struct ForwardLaunch {
  Rule rule;
  const normlab_geonorm_forward_args& args;
  void* stream;

  template <int kCols>
  int Width() {
    using Layout = RowLayout<kCols, kThreadsFor<kCols, 1024>, kGroupFor<X, V>>;
    return Launch(&ForwardKernel<Layout, X, V>, BlocksFor(args.x.rows, Layout::kRowsPerBlock),
                  Layout::kBlock, stream, rule, args);
  }
  int AnyWidth() {
    return Launch(&ForwardAnyKernel<Real, X, V>, BlocksFor(args.x.rows, 1), kAnyWidthBlock, stream,
                  rule, args);
  }
};

template <class X, class V>
struct BackwardLaunch {
  Rule rule;
  const normlab_geonorm_backward_args& args;
  double* partials;
  void* stream;

  template <int kCols>
  int Width() {
    using Layout = RowLayout<kCols, kThreadsFor<kCols, 768>, kGroupFor<X, V>>;
    const std::int64_t blocks = BlocksFor(args.x.rows, Layout::kRowsPerBlock);
    if (args.dangle == nullptr) {
      return Launch(&BackwardKernel<Layout, X, V, false>, blocks, Layout::kBlock, stream, rule,
                    args, partials);
    }
    NORMLAB_RETURN_IF_FAULT(Launch(&BackwardKernel<Layout, X, V, true>, blocks, Layout::kBlock,
                                   stream, rule, args, partials));
    return Finish(blocks * Layout::kRowsPerBlock);
  }
  int AnyWidth() {
    const std::int64_t blocks = BlocksFor(args.x.rows, 1);
    NORMLAB_RETURN_IF_FAULT(Launch(&BackwardAnyKernel<X, V>, blocks, kAnyWidthBlock, stream, rule,
                                   args, args.dangle != nullptr ? partials : nullptr));
    return args.dangle != nullptr ? Finish(blocks) : NORMLAB_OK;
  }
  int Finish(std::int64_t count) {
    return Launch(&FinishAngle, 1, kWarp, stream, static_cast<const double*>(partials), count,
                  args.dangle);
  }
};

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int64_t NORMLAB_DEVICE(geonorm_workspace)(int64_t rows) {
  return 3 * 8 * 4 * BlocksFor(rows, 1);
}

extern "C" int NORMLAB_DEVICE(geonorm_forward)(const normlab_geonorm_options* options,
                                               const normlab_geonorm_forward_args* args,
                                               void* stream) {
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormOptions(*options));
  const bool own = HasOwnKernel(args->x.cols, args->x.dtype);
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormForward(*args, own ? 16 : 0));
  if (args->probes != nullptr) return Fail("geonorm: there are no probes on CUDA");
  const Rule rule = MakeRule(*options);
  if (args->x.dtype == NORMLAB_F64) {
    return ForwardLaunch<double, double, double>{rule, *args, stream}.AnyWidth();
  }
  if (args->x.dtype == NORMLAB_BF16) {
    return DispatchWidth(args->x.cols, ForwardLaunch<float, Bf16, Bf16>{rule, *args, stream});
  }
  if (args->v.dtype == NORMLAB_BF16) {
    return DispatchWidth(args->x.cols, ForwardLaunch<float, float, Bf16>{rule, *args, stream});
  }
  return DispatchWidth(args->x.cols, ForwardLaunch<float, float, float>{rule, *args, stream});
}

extern "C" int NORMLAB_DEVICE(geonorm_backward)(const normlab_geonorm_options* options,
                                                const normlab_geonorm_backward_args* args,
                                                void* workspace, void* stream) {
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormOptions(*options));
  const bool own = HasOwnKernel(args->x.cols, args->x.dtype);
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormBackward(*args, own ? 16 : 0));
  if (args->dangle != nullptr && workspace == nullptr) {
    return Fail("geonorm: dangle needs a workspace");
  }
  const Rule rule = MakeRule(*options);
  double* partials = static_cast<double*>(workspace);
  if (args->x.dtype == NORMLAB_F64) {
    return BackwardLaunch<double, double>{rule, *args, partials, stream}.AnyWidth();
  }
  if (args->x.dtype == NORMLAB_BF16) {
    return DispatchWidth(args->x.cols, BackwardLaunch<Bf16, Bf16>{rule, *args, partials, stream});
  }
  if (args->v.dtype == NORMLAB_BF16) {
    return DispatchWidth(args->x.cols, BackwardLaunch<float, Bf16>{rule, *args, partials, stream});
  }
  return DispatchWidth(args->x.cols, BackwardLaunch<float, float>{rule, *args, partials, stream});
}
