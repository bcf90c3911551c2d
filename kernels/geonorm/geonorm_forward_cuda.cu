// GeoNorm on CUDA, forward: one row in the registers of one or two warps, x and v read once, y
// written once. Widths without a kernel of their own, and fp64, take the kernel for any width: a
// block per row, the row read again for each pass.
#include "kernels/common/row_probes.cuh"
#include "kernels/geonorm/geonorm_check.h"
#include "kernels/geonorm/geonorm_device.cuh"

namespace normlab::kernels {
namespace {

__device__ __forceinline__ void CountZeroRow(std::int64_t* zero_rows) {
  // A count of integers: whatever the order, the same result.
  atomicAdd(reinterpret_cast<unsigned long long*>(zero_rows), 1ull);
}

template <class Layout>
__device__ __forceinline__ ScaledSums<float> SumsOf(RegisterRow<Layout>* x, RegisterRow<Layout>* v,
                                                    double least) {
  PowerOfTwo of_x, of_v;
#pragma unroll 1
  for (int pass = 0;; ++pass) {
    const ScaledSums<float> sums = SumRow(*x, *v, of_x, of_v);
    if (pass == 1 || InRange(sums, least)) return sums;
    of_x = BringNearOne(x);
    of_v = BringNearOne(v);
  }
}

template <class Layout, class X, class V>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    ForwardKernel(Rule given, normlab_cuda_learned_angle learned,
                  normlab_geonorm_forward_args args) {
  const OwnRows<Layout> own;
  const Rule rule = WithLearned<float>(given, learned);
  for (std::int64_t at = own.group; at < args.x.rows; at += own.step) {
    RegisterRow<Layout> x, v;
    LoadRow(DeviceRow<X>(args.x, at), own.thread, &x);
    LoadRow(DeviceRow<V>(args.v, at), own.thread, &v);
    const ScaledSums<float> sums = SumsOf(&x, &v, row::LeastTangent(rule, false));
    float of_x = 1, of_v = 0;
    double theta = 0, p = 0;
    if (sums.a != 0) {
      const Curve row_curve = CurveOf(rule, sums);
      const double t = row_curve.curve.t;
      theta = row_curve.curve.theta;
      p = row_curve.p;
      of_x = static_cast<float>((row_curve.curve.c - t * row_curve.beta) * sums.of_x.inverse);
      of_v = static_cast<float>(t * sums.of_v.inverse);
    } else if (args.zero_rows != nullptr && own.thread == 0) {
      CountZeroRow(args.zero_rows);
    }
    if (args.saved != nullptr && own.thread == 0) SaveRow(rule, args.saved, at, sums, p);
    const bool turns = of_v != 0;  // a row that stays does so whatever v holds
    EachColumn<Layout>([&](int s, int i) {
      x.value[s][i] *= of_x;
      if (turns) x.value[s][i] = MultiplyAdd(of_v, v.value[s][i], x.value[s][i]);
    });
    StoreRow(DeviceRow<X>(args.y, at), own.thread, x);
    if (args.probes != nullptr) {
      float magnitudes[2];
      RoundTo<X>(&x);
      MagnitudeSums(x, magnitudes);
      if (own.thread == 0) {
        StoreProbes<float>(args.probes, at, magnitudes[0] / Layout::kCols, magnitudes[1],
                           row::WrappedAngle(theta));
      }
    }
  }
}

template <class Real, class X, class V>
__global__ void __launch_bounds__(kAnyWidthBlock, 1)
    ForwardAnyKernel(Rule given, normlab_cuda_learned_angle learned,
                     normlab_geonorm_forward_args args) {
  const Rule rule = WithLearned<Real>(given, learned);
  for (std::int64_t at = blockIdx.x; at < args.x.rows; at += gridDim.x) {
    const X* x = DeviceRow<X>(args.x, at);
    const V* v = DeviceRow<V>(args.v, at);
    X* y = DeviceRow<X>(args.y, at);
    const ScaledSums<double> sums = SumAnyRow(x, v, args.x.cols);
    double of_x = 1, of_v = 0, theta = 0, p = 0;
    if (sums.a != 0) {
      const Curve row_curve = CurveOf(rule, sums);
      theta = row_curve.curve.theta;
      p = row_curve.p;
      of_v = row_curve.curve.t;
      of_x = row_curve.curve.c - of_v * row_curve.beta;
    } else if (args.zero_rows != nullptr && threadIdx.x == 0) {
      CountZeroRow(args.zero_rows);
    }
    EachOwnColumn(args.x.cols, [&](std::int64_t c) {
      double value = of_x * Get<double>(x + c);
      if (of_v != 0) value += of_v * Get<double>(v + c);
      Put(y + c, value);
    });
    if (args.saved != nullptr && threadIdx.x == 0) {
      SaveRow<Real>(rule, args.saved, at,
                    {static_cast<Real>(sums.a), static_cast<Real>(sums.beta),
                     static_cast<Real>(sums.u_squared), PowerOfTwo(), PowerOfTwo()},
                    p);
    }
    if (args.probes != nullptr) {
      double magnitudes[2];
      MagnitudeSumsAny(y, args.x.cols, magnitudes);
      if (threadIdx.x == 0) {
        StoreProbes<Real>(args.probes, at, magnitudes[0] / static_cast<double>(args.x.cols),
                          magnitudes[1], row::WrappedAngle(theta));
      }
    }
  }
}

// ---- launches ----------------------------------------------------------------------------------

template <class Pair>
struct ForwardLaunch {
  using X = typename Pair::Stream;
  using V = typename Pair::Branch;
  Rule rule;
  normlab_cuda_learned_angle learned;
  const normlab_geonorm_forward_args& args;
  void* stream;

  template <int kCols>
  int Width() {
    using Layout = GeoNormLayout<Pair, kCols, 1024>;
    return Launch(&ForwardKernel<Layout, X, V>, BlocksFor<Layout>(args.x.rows), Layout::kBlock,
                  stream, rule, learned, args);
  }
  int AnyWidth() {
    return Launch(&ForwardAnyKernel<typename Pair::Real, X, V>, AnyWidthBlocksFor(args.x.rows),
                  kAnyWidthBlock, stream, rule, learned, args);
  }
};

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int NORMLAB_DEVICE(geonorm_forward)(const normlab_geonorm_options* options,
                                               const normlab_geonorm_forward_args* args,
                                               const normlab_cuda_learned_angle* learned_angle,
                                               void* stream) {
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormOptions(*options));
  NORMLAB_RETURN_IF_FAULT(CheckGeoNormForward(*args, AlignmentFor(args->x.cols, args->x.dtype)));
  NORMLAB_RETURN_IF_FAULT(CheckNumber("zero_rows", args->zero_rows));
  const auto learned = learned_angle != nullptr ? *learned_angle : normlab_cuda_learned_angle{};
  NORMLAB_RETURN_IF_FAULT(CheckLearned(learned, args->x.dtype));
  const Rule rule = row::AngleRule(*options);
  return DispatchTypes(args->x.dtype, args->v.dtype, [&](auto types) {
    using Pair = decltype(types);
    return DispatchWidthOf<Pair>(args->x.cols, ForwardLaunch<Pair>{rule, learned, *args, stream});
  });
}
