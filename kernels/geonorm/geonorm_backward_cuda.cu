// GeoNorm on CUDA, backward: g, x and v read once, dx and dv written once; only <g,x> and <g,v> are
// new sums, the others were saved by the forward pass. Shares of the angle's gradients are kept in
// registers, left as one partial per row group, and added by a second launch.
#include "kernels/common/partial_sums.cuh"
#include "kernels/geonorm/geonorm_check.h"
#include "kernels/geonorm/geonorm_device.cuh"

namespace normlab::kernels {
namespace {

template <class Pair, int kCols>
using BackwardLayout = GeoNormLayout<Pair, kCols, 768>;

// Coefficients of the three terms of dv and the four of dx, for rows as scaled.
struct Coefficients {
  float t, across_x, turn, c, across_u, shrink, beta_out, beta_in;
};

template <class Real>
__device__ __forceinline__ Coefficients Combine(const Curve& row_curve,
                                                const ScaledSums<Real>& sums, double gx,
                                                double gu) {
  const row::GeoCurve<double>& curve = row_curve.curve;
  const double turn = 2 * (curve.dc * gx + curve.dt * gu) * row_curve.share;
  const double across = -curve.t * gx * row_curve.share;
  return {static_cast<float>(curve.t),
          static_cast<float>(across * sums.of_x.inverse),
          static_cast<float>(turn * sums.of_v.inverse),
          static_cast<float>(curve.c),
          static_cast<float>(across * sums.of_v.inverse),
          static_cast<float>(-row_curve.p * turn * sums.of_x.inverse),
          static_cast<float>(row_curve.beta),
          static_cast<float>(sums.beta)};
}

// What the forward pass saved; where fp32 could not hold it, x and v are scaled in place and summed
// again. All threads of the row take the same way.
template <class Layout>
__device__ __forceinline__ ScaledSums<float> SavedSums(const void* saved, std::int64_t row,
                                                       double least, RegisterRow<Layout>* x,
                                                       RegisterRow<Layout>* v) {
  const float* own = static_cast<const float*>(saved) + row * NORMLAB_GEONORM_SAVED;
  const ScaledSums<float> kept{LoadGlobal(own), LoadGlobal(own + 1), LoadGlobal(own + 2),
                               PowerOfTwo(), PowerOfTwo()};
  if (InRange(kept, least)) return kept;
  const PowerOfTwo of_x = BringNearOne(x), of_v = BringNearOne(v);
  return SumRow(*x, *v, of_x, of_v);
}

// partials: dL/d(alpha, scale, bias) of each row group; null where they are not wanted.
template <class Layout, class X, class V>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    BackwardKernel(Rule given, normlab_cuda_learned_angle learned,
                   normlab_geonorm_backward_args args, double* partials) {
  const OwnRows<Layout> own;
  const Rule rule = WithLearned<float>(given, learned);
  const double least = row::LeastTangent(rule, partials != nullptr);
  double dangle[3] = {0, 0, 0};
  for (std::int64_t at = own.group; at < args.x.rows; at += own.step) {
    RegisterRow<Layout> g, x, v;
    LoadRow<true>(DeviceRow<X>(args.g, at), own.thread, &g);
    LoadRow<true>(DeviceRow<X>(args.x, at), own.thread, &x);
    LoadRow<true>(DeviceRow<V>(args.v, at), own.thread, &v);
    const ScaledSums<float> sums = SavedSums(args.saved, at, least, &x, &v);

    float along[2] = {0, 0};
    EachColumn<Layout>([&](int s, int i) {
      const float u = MultiplyAdd(-sums.beta, x.value[s][i], v.value[s][i]);
      along[0] = MultiplyAdd(g.value[s][i], x.value[s][i], along[0]);
      along[1] = MultiplyAdd(g.value[s][i], u, along[1]);
    });
    ReduceRows<Layout::kThreads>(along, Add{});
    const double gx = along[0] * sums.of_x.inverse, gu = along[1] * sums.of_v.inverse;
    Coefficients k{0, 0, 0, 1, 0, 0, 0, 0};
    if (sums.a != 0) {
      const Curve row_curve = CurveOf(rule, sums);
      k = Combine(row_curve, sums, gx, gu);
      if (partials != nullptr) {
        row::AddAngleGradients(rule, row_curve.curve, gx, gu, row_curve.p, dangle);
      }
    }
    const bool zero = sums.a == 0;
    EachColumn<Layout>([&](int s, int i) {
      const float upstream = g.value[s][i], value = x.value[s][i];
      const float u = MultiplyAdd(-k.beta_in, value, v.value[s][i]);
      const float of_v = MultiplyAdd(k.turn, u, MultiplyAdd(k.across_x, value, k.t * upstream));
      const float turned = MultiplyAdd(k.across_u, u, k.c * upstream);
      const float of_x = MultiplyAdd(-k.beta_out, of_v, MultiplyAdd(k.shrink, value, turned));
      v.value[s][i] = zero ? 0.0f : of_v;
      x.value[s][i] = zero ? upstream : of_x;
    });
    StoreRow(DeviceRow<V>(args.dv, at), own.thread, v);
    StoreRow(DeviceRow<X>(args.dx, at), own.thread, x);
  }
  if (partials != nullptr && own.thread == 0) {
    for (int i = 0; i < 3; ++i) StoreGlobal(partials + 3 * own.group + i, dangle[i]);
  }
}

// ---- any width ---------------------------------------------------------------------------------

// Works the sums out again: reading them back would lose what fp32 cannot hold.
template <class Real, class X, class V>
__global__ void __launch_bounds__(kAnyWidthBlock, 1)
    BackwardAnyKernel(Rule given, normlab_cuda_learned_angle learned,
                      normlab_geonorm_backward_args args, double* partials) {
  const Rule rule = WithLearned<Real>(given, learned);
  double dangle[3] = {0, 0, 0};
  for (std::int64_t at = blockIdx.x; at < args.x.rows; at += gridDim.x) {
    const X* g = DeviceRow<X>(args.g, at);
    const X* x = DeviceRow<X>(args.x, at);
    const V* v = DeviceRow<V>(args.v, at);
    const ScaledSums<double> sums = SumAnyRow(x, v, args.x.cols);
    double along[2] = {0, 0};
    EachOwnColumn(args.x.cols, [&](std::int64_t c) {
      const double upstream = Get<double>(g + c), value = Get<double>(x + c);
      along[0] += upstream * value;
      along[1] += upstream * (Get<double>(v + c) - sums.beta * value);
    });
    ReduceRows<kAnyWidthBlock>(along, Add{});
    const double gx = along[0], gu = along[1];
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

// ---- launches ----------------------------------------------------------------------------------

template <class Pair>
struct BackwardLaunch {
  using X = typename Pair::Stream;
  using V = typename Pair::Branch;
  Rule rule;
  normlab_cuda_learned_angle learned;
  const normlab_geonorm_backward_args& args;
  double* partials;
  void* stream;

  template <int kCols>
  int Width() {
    using Layout = BackwardLayout<Pair, kCols>;
    const std::int64_t blocks = BlocksFor<Layout>(args.x.rows);
    NORMLAB_RETURN_IF_FAULT(Launch(&BackwardKernel<Layout, X, V>, blocks, Layout::kBlock, stream,
                                   rule, learned, args, partials));
    return Finish(blocks * Layout::kRowsPerBlock);
  }
  int AnyWidth() {
    const std::int64_t blocks = AnyWidthBlocksFor(args.x.rows);
    NORMLAB_RETURN_IF_FAULT(Launch(&BackwardAnyKernel<typename Pair::Real, X, V>, blocks,
                                   kAnyWidthBlock, stream, rule, learned, args, partials));
    return Finish(blocks);
  }
  int Finish(std::int64_t groups) {
    if (partials == nullptr) return NORMLAB_OK;
    return LaunchAddNumbers(partials, groups, 3, args.dangle, stream);
  }
};

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int64_t NORMLAB_DEVICE(geonorm_workspace)(int64_t rows) {
  // One row group for each warp at most, and each needs a row.
  return (rows < kMostWarps ? rows + 3 : kMostWarps) * 3 * static_cast<int64_t>(sizeof(double));
}

extern "C" int NORMLAB_DEVICE(geonorm_backward)(const normlab_geonorm_options* options,
                                                const normlab_geonorm_backward_args* args,
                                                const normlab_cuda_learned_angle* learned_angle,
                                                void* workspace, void* stream) {
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormOptions(*options));
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormBackward(*args, AlignmentFor(args->x.cols, args->x.dtype)));
  if (args->dangle != nullptr && workspace == nullptr) {
    return Fail("geonorm: dangle needs a workspace");
  }
  NORMLAB_RETURN_IF_FAULT(CheckNumber("dangle", args->dangle));
  NORMLAB_RETURN_IF_FAULT(CheckNumber("workspace", workspace));
  const auto learned = learned_angle != nullptr ? *learned_angle : normlab_cuda_learned_angle{};
  NORMLAB_RETURN_IF_FAULT(CheckLearned(learned, args->x.dtype));
  const Rule rule = row::AngleRule(*options);
  double* partials = args->dangle != nullptr ? static_cast<double*>(workspace) : nullptr;
  return DispatchTypes(args->x.dtype, args->v.dtype, [&](auto types) {
    using Pair = decltype(types);
    return DispatchWidthOf<Pair>(args->x.cols,
                                 BackwardLaunch<Pair>{rule, learned, *args, partials, stream});
  });
}
