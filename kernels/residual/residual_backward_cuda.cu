// Residual updates on CUDA, backward: the branch's norm and the sum are worked out again in
// registers, every input is read once and every gradient written once. Column sums stay in
// registers while a thread strides over its rows; a second launch adds the partials.
#include <algorithm>

#include "kernels/common/partial_sums.cuh"
#include "kernels/include/normlab_kernels_cuda.h"
#include "kernels/residual/residual_check.h"
#include "kernels/residual/residual_cpu.h"
#include "kernels/residual/residual_device.cuh"

namespace normlab::kernels {
namespace {

static_assert(kResidualSums <= kMostColumnSums);

// What a launch is told beside the form and the buffers.
struct BackwardPlan {
  const void* learned;
  double* db_partials;  // one per row group; null where dL/db is not wanted
  bool sums[kResidualSums];
};

// dL/dstream with what comes through the next norm.
template <class Layout, class X, class G>
__device__ __forceinline__ void Gather(const normlab_residual_form& form,
                                       const normlab_residual_backward_args& args, std::int64_t at,
                                       int thread, RegisterRow<Layout>* upstream,
                                       NormSums<Layout>* sums) {
  RegisterRow<Layout> direct{};
  if (args.dstream.data != nullptr) LoadRow<true>(DeviceRow<X>(args.dstream, at), thread, &direct);
  *upstream = direct;
  if (form.next.present == 0 || args.dnext.data == nullptr) return;
  RegisterRow<Layout> unit;
  LoadRow<true>(DeviceRow<G>(args.dnext, at), thread, upstream);
  LoadRow<true>(DeviceRow<X>(args.stream, at), thread, &unit);
  const normlab_norm_options& options = form.next.options;
  const Statistics row = SavedStatistics(options, form.next.saved, at, thread, &unit);
  Normalize(row, thread, &unit);
  ThroughNorm(options.kind == NORMLAB_LAYERNORM, row, form.next.gain, thread, unit, upstream, sums);
  EachColumn<Layout>([&](int s, int i) { upstream->value[s][i] += direct.value[s][i]; });
}

// dL/db_columns of the row added to `by_column`, dL/db returned: this thread's share.
template <class Layout>
__device__ __forceinline__ double FactorGradients(const normlab_residual_form& form, double factor,
                                                  int thread, const RegisterRow<Layout>& upstream,
                                                  const RegisterRow<Layout>& h,
                                                  RegisterRow<Layout>* by_column) {
  RegisterRow<Layout> factors;
  LoadParameter(form.b_columns, thread, 1.0f, &factors);
  const float b = static_cast<float>(factor);
  float total = 0;
  EachColumn<Layout>([&](int s, int i) {
    const float part = upstream.value[s][i] * h.value[s][i];
    by_column->value[s][i] = MultiplyAdd(b, part, by_column->value[s][i]);
    total = MultiplyAdd(part, factors.value[s][i], total);
  });
  return total;
}

template <class Layout>
__device__ __forceinline__ void StoreSum(const BackwardPlan& plan, void* workspace,
                                         std::int64_t group, int which, int thread,
                                         const RegisterRow<Layout>& sum) {
  if (!plan.sums[which]) return;
  float* partials = static_cast<float*>(workspace);
  StoreRow(partials + (group * kResidualSums + which) * Layout::kCols, thread, sum);
}

template <class Layout, class X, class G, ResidualShape kShape>
__global__ void __launch_bounds__(Layout::kBlock, 1)
    BackwardKernel(normlab_residual_form form, normlab_residual_backward_args args,
                   BackwardPlan plan) {
  constexpr bool kBranch = kShape == ResidualShape::kBranch, kPost = kShape == ResidualShape::kPost;
  const OwnRows<Layout> own;
  const double factor = FactorOf<float>(form, plan.learned);
  const bool factors_wanted = plan.db_partials != nullptr || plan.sums[kBranchFactor];
  NormSums<Layout> inner{}, next{};
  RegisterRow<Layout> by_column{};
  double db = 0;
  for (std::int64_t at = own.group; at < args.dx.rows; at += own.step) {
    RegisterRow<Layout> upstream, unit;  // unit: g, or g normalised
    Statistics branch{0, 1};
    Gather<Layout, X, G>(form, args, at, own.thread, &upstream, &next);
    if (kBranch || kPost || factors_wanted) {
      LoadRow<true>(DeviceRow<G>(args.g, at), own.thread, &unit);
      if (kBranch) {
        branch = SavedStatistics(form.branch.options, form.branch.saved, at, own.thread, &unit);
        Normalize(branch, own.thread, &unit);
      }
    }
    if (kPost) {
      RegisterRow<Layout> x, sum = unit;
      LoadRow<true>(DeviceRow<X>(args.x, at), own.thread, &x);
      Join(form, factor, own.thread, x, &sum);
      const normlab_norm_options& options = form.post.options;
      const Statistics row = SavedStatistics(options, form.post.saved, at, own.thread, &sum);
      Normalize(row, own.thread, &sum);
      ThroughNorm(options.kind == NORMLAB_LAYERNORM, row, form.post.gain, own.thread, sum,
                  &upstream, &inner);
    }
    if (factors_wanted) {
      RegisterRow<Layout> h = unit;
      if (kBranch) ApplyParameters(form.branch.gain, form.branch.bias, own.thread, &h);
      db += FactorGradients(form, factor, own.thread, upstream, h, &by_column);
    }
    RegisterRow<Layout> result = upstream;
    ScaleBy(static_cast<float>(form.a), &result);
    StoreRow(DeviceRow<X>(args.dx, at), own.thread, result);
    if (args.dg.data == nullptr) continue;
    ScaleBranch(form, factor, own.thread, &upstream);
    if (kBranch) {
      ThroughNorm(form.branch.options.kind == NORMLAB_LAYERNORM, branch, form.branch.gain,
                  own.thread, unit, &upstream, &inner);
    }
    StoreRow(DeviceRow<G>(args.dg, at), own.thread, upstream);
  }
  StoreSum(plan, args.workspace, own.group, kPost ? kPostGain : kBranchGain, own.thread,
           inner.gain);
  StoreSum(plan, args.workspace, own.group, kPost ? kPostBias : kBranchBias, own.thread,
           inner.bias);
  StoreSum(plan, args.workspace, own.group, kNextGain, own.thread, next.gain);
  StoreSum(plan, args.workspace, own.group, kNextBias, own.thread, next.bias);
  StoreSum(plan, args.workspace, own.group, kBranchFactor, own.thread, by_column);
  if (plan.db_partials == nullptr) return;
  db = ReduceRow<Layout::kThreads>(db, Add{});
  if (own.thread == 0) StoreGlobal(plan.db_partials + own.group, db);
}

// ---- any width ---------------------------------------------------------------------------------

// A block's partial sums in memory, each column added to by its own thread alone.
template <class Real>
struct AnySums {
  const BackwardPlan& plan;
  Real* partials;
  std::int64_t cols;

  __device__ void Add(int which, std::int64_t column, double value) const {
    if (plan.sums[which]) AddTo(partials + which * cols + column, value);
  }
  __device__ void Clear() const {
    for (int which = 0; which < kResidualSums; ++which) {
      if (!plan.sums[which]) continue;
      EachOwnColumn(cols,
                    [&](std::int64_t c) { StoreGlobal(partials + which * cols + c, Real(0)); });
    }
  }
};

// Back through one norm: given dL/d(output) and the input as functions of the column, calls
// use(function of the column for dL/d(input)) and adds to the sums gain and gain + 1.
template <class Real, class Upstream, class Unit, class Use>
__device__ __forceinline__ void ThroughAny(const normlab_norm_stage& stage, double rstd,
                                           const AnySums<Real>& sums, int gain, Upstream upstream,
                                           Unit unit, Use use) {
  const auto weighted = [&](std::int64_t c) {
    return upstream(c) * ParameterAt<Real>(stage.gain, c, 1);
  };
  const AnyDots dots = DotsOf(stage.options.kind, sums.cols, weighted, unit);
  EachOwnColumn(sums.cols, [&](std::int64_t c) {
    sums.Add(gain, c, upstream(c) * unit(c));
    sums.Add(gain + 1, c, upstream(c));
  });
  use([&](std::int64_t c) { return rstd * (weighted(c) - dots.of_one - unit(c) * dots.of_unit); });
}

template <class Real, class X, class G>
struct AnyBackwardRow {
  const normlab_residual_form& form;
  const normlab_residual_backward_args& args;
  const AnySums<Real>& sums;
  std::int64_t at;
  const AnyRow<Real, X, G>& row;
  double* db;

  __device__ double Direct(std::int64_t c) const {
    if (args.dstream.data == nullptr) return 0;
    return Get<double>(DeviceRow<X>(args.dstream, at) + c);
  }

  // Rounded as the norm alone would leave it, and as automatic differentiation would add it up.
  __device__ double Joined(std::int64_t c, double through) const {
    return static_cast<Real>(Direct(c) + static_cast<Real>(through));
  }

  __device__ void Run() const {
    if (form.next.present == 0 || args.dnext.data == nullptr) {
      return AfterNext([&](std::int64_t c) { return Direct(c); });
    }
    const X* stream = DeviceRow<X>(args.stream, at);
    const G* dnext = DeviceRow<G>(args.dnext, at);
    const Statistics next = AnyStatistics(form.next.options, sums.cols,
                                          [&](std::int64_t c) { return Get<double>(stream + c); });
    ThroughAny(
        form.next, next.rstd, sums, kNextGain,
        [&](std::int64_t c) { return Get<double>(dnext + c); },
        [&](std::int64_t c) { return (Get<double>(stream + c) - next.mean) * next.rstd; },
        [&](auto through) { AfterNext([&](std::int64_t c) { return Joined(c, through(c)); }); });
  }

  template <class Upstream>
  __device__ void AfterNext(Upstream upstream) const {
    if (form.post.present == 0) return AfterPost(upstream);
    const Statistics post =
        AnyStatistics(form.post.options, sums.cols, [&](std::int64_t c) { return row.Sum(c); });
    ThroughAny(
        form.post, post.rstd, sums, kPostGain, upstream,
        [&](std::int64_t c) { return (row.Sum(c) - post.mean) * post.rstd; },
        [&](auto through) { AfterPost(through); });
  }

  // Here upstream is dL/d(a·x + b·branch(g)).
  template <class Upstream>
  __device__ void AfterPost(Upstream upstream) const {
    EachOwnColumn(sums.cols, [&](std::int64_t c) {
      const double part = upstream(c) * row.Branch(c);
      sums.Add(kBranchFactor, c, part * row.factor);
      *db += part * ParameterAt<Real>(form.b_columns, c, 1);
      Put(DeviceRow<X>(args.dx, at) + c, form.a * upstream(c));
    });
    if (args.dg.data == nullptr) return;
    G* dg = DeviceRow<G>(args.dg, at);
    const auto by_branch = [&](std::int64_t c) { return upstream(c) * row.FactorAt(c); };
    if (form.branch.present == 0) {
      return EachOwnColumn(sums.cols, [&](std::int64_t c) { Put(dg + c, by_branch(c)); });
    }
    ThroughAny(
        form.branch, row.branch.rstd, sums, kBranchGain, by_branch,
        [&](std::int64_t c) { return row.Unit(c); },
        [&](auto through) {
          EachOwnColumn(sums.cols, [&](std::int64_t c) { Put(dg + c, through(c)); });
        });
  }
};

template <class Real, class X, class G>
__global__ void __launch_bounds__(kAnyWidthBlock, 1)
    BackwardAnyKernel(normlab_residual_form form, normlab_residual_backward_args args,
                      BackwardPlan plan) {
  const std::int64_t cols = args.dx.cols;
  const double factor = FactorOf<Real>(form, plan.learned);
  const AnySums<Real> sums{
      plan, static_cast<Real*>(args.workspace) + cols * kResidualSums * blockIdx.x, cols};
  sums.Clear();
  double db = 0;
  for (std::int64_t at = blockIdx.x; at < args.dx.rows; at += gridDim.x) {
    // x is read only where there is a post norm.
    const X* x = form.post.present != 0 ? DeviceRow<X>(args.x, at) : nullptr;
    const AnyRow<Real, X, G> row(form, factor, x, DeviceRow<G>(args.g, at), cols);
    AnyBackwardRow<Real, X, G>{form, args, sums, at, row, &db}.Run();
  }
  if (plan.db_partials == nullptr) return;
  db = ReduceRow<kAnyWidthBlock>(db, Add{});
  if (threadIdx.x == 0) StoreGlobal(plan.db_partials + blockIdx.x, db);
}

// ---- launches ----------------------------------------------------------------------------------

// The workspace: one double per group for dL/db, in whole packets, then the column sums.
std::int64_t NumberBytes(std::int64_t groups) { return (groups + 1) / 2 * 16; }

template <class Pair>
struct BackwardLaunch {
  using Real = typename Pair::Real;
  using X = typename Pair::Stream;
  using G = typename Pair::Branch;
  const normlab_residual_form& form;
  normlab_residual_backward_args args;
  const void* learned;
  void* stream;
  std::int64_t groups = 0;
  BackwardPlan plan{};
  ColumnOutputs<Real> outputs{};

  BackwardLaunch(const normlab_residual_form& the_form, const normlab_residual_backward_args& given,
                 const void* learned_b, void* queue)
      : form(the_form), args(given), learned(learned_b), stream(queue) {
    const std::int64_t rows = args.dx.rows;
    groups = HasShape(form) ? NormBackwardGroupsFor(rows, args.dx.cols, args.dx.dtype)
                            : AnyWidthBlocksFor(rows);
    plan.learned = learned;
    plan.db_partials = args.db != nullptr ? static_cast<double*>(args.workspace) : nullptr;
    if (args.workspace != nullptr) {
      args.workspace = static_cast<char*>(args.workspace) + NumberBytes(groups);
    }
    outputs.partials = static_cast<const Real*>(args.workspace);
    outputs.groups = groups;
    outputs.cols = args.dx.cols;
    outputs.kinds = kResidualSums;
    const normlab_norm_stage* stages[3] = {&form.branch, &form.post, &form.next};
    for (int k = 0; k < 3; ++k) {
      if (stages[k]->present == 0) continue;
      outputs.Want(2 * k, stages[k]->dgain);
      outputs.Want(2 * k + 1, stages[k]->dbias);
    }
    outputs.Want(kBranchFactor, args.db_columns);
    for (int i = 0; i < outputs.wanted; ++i) plan.sums[outputs.kind[i]] = true;
  }

  template <ResidualShape kShape, int kCols>
  int Width() {
    using Layout = NormBackwardLayout<kCols>;
    NORMLAB_RETURN_IF_FAULT(Launch(&BackwardKernel<Layout, X, G, kShape>,
                                   groups / Layout::kRowsPerBlock, Layout::kBlock, stream, form,
                                   args, plan));
    return Finish();
  }
  int AnyWidth() {
    NORMLAB_RETURN_IF_FAULT(
        Launch(&BackwardAnyKernel<Real, X, G>, groups, kAnyWidthBlock, stream, form, args, plan));
    return Finish();
  }
  int Finish() {
    NORMLAB_RETURN_IF_FAULT(LaunchAddColumns(outputs, stream));
    if (args.db == nullptr) return NORMLAB_OK;
    return LaunchAddNumbers(plan.db_partials, groups, 1, args.db, stream);
  }
};

}  // namespace
}  // namespace normlab::kernels

using namespace normlab::kernels;

extern "C" int64_t NORMLAB_DEVICE(residual_workspace)(int64_t rows, int64_t cols,
                                                      normlab_dtype stream_type) {
  // Forms without a kernel in registers take the kernel for any width at every width.
  const int64_t groups =
      std::max(NormBackwardGroupsFor(rows, cols, stream_type), AnyWidthBlocksFor(rows));
  return NumberBytes(groups) + groups * kResidualSums * cols * RealBytes(stream_type);
}

extern "C" int NORMLAB_DEVICE(residual_backward)(const normlab_residual_form* form,
                                                 const normlab_residual_backward_args* args,
                                                 const void* learned_b, void* stream) {
  const std::int64_t cols = args->dx.cols;
  const int alignment = AlignmentFor(cols, args->dx.dtype);
  NORMLAB_RETURN_IF_FAULT(CheckResidualBackward(*form, *args, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckStages(*form, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckParameter("workspace", args->workspace, 16));
  NORMLAB_RETURN_IF_FAULT(CheckNumber("db", args->db));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("learned b", learned_b, args->dx.dtype));
  if (learned_b != nullptr && args->dg.data == nullptr && args->dx.rows > 0) {
    return Fail("residual: dg may be left out only where it equals dx");
  }
  return DispatchTypes(args->dx.dtype, args->g.dtype, [&](auto types) {
    using Pair = decltype(types);
    return DispatchForm<Pair>(*form, cols, BackwardLaunch<Pair>(*form, *args, learned_b, stream));
  });
}
