// What both directions of the residual updates share on CUDA.
#ifndef NORMLAB_KERNELS_RESIDUAL_RESIDUAL_DEVICE_CUH_
#define NORMLAB_KERNELS_RESIDUAL_RESIDUAL_DEVICE_CUH_

#include <string>
#include <utility>

#include "kernels/norm/norm_device.cuh"

namespace normlab::kernels {

// Which norm a kernel in registers has beside that of the next input. Forms with both, which no
// placement uses, take the kernels for any width.
enum class ResidualShape { kPlain, kBranch, kPost };

// The factor of the branch: a number times, where it is learned, a number on the device.
template <class Real>
__device__ __forceinline__ double FactorOf(const normlab_residual_form& form, const void* learned) {
  return learned == nullptr ? form.b : form.b * Get<double>(static_cast<const Real*>(learned));
}

// h becomes b·factors·h.
template <class Layout>
__device__ __forceinline__ void ScaleBranch(const normlab_residual_form& form, double factor,
                                            int thread, RegisterRow<Layout>* h) {
  const float b = static_cast<float>(factor);
  RegisterRow<Layout> factors;
  LoadParameter(form.b_columns, thread, 1.0f, &factors);
  EachColumn<Layout>(
      [&](int s, int i) { h->value[s][i] = b * h->value[s][i] * factors.value[s][i]; });
}

// h becomes a·x + b·factors·h.
template <class Layout>
__device__ __forceinline__ void Join(const normlab_residual_form& form, double factor, int thread,
                                     const RegisterRow<Layout>& x, RegisterRow<Layout>* h) {
  const float a = static_cast<float>(form.a);
  ScaleBranch(form, factor, thread, h);
  EachColumn<Layout>(
      [&](int s, int i) { h->value[s][i] = MultiplyAdd(a, x.value[s][i], h->value[s][i]); });
}

// Whether an update of that form has kernels in registers, at the widths that have any.
inline bool HasShape(const normlab_residual_form& form) {
  return form.branch.present == 0 || form.post.present == 0;
}

// Launches an update: run.Width<shape, cols>(), or run.AnyWidth() where there is no such kernel.
template <class Pair, class Run>
struct OfForm {
  const normlab_residual_form& form;
  Run run;

  template <int kCols>
  int Width() {
    if (form.branch.present != 0) return run.template Width<ResidualShape::kBranch, kCols>();
    if (form.post.present != 0) return run.template Width<ResidualShape::kPost, kCols>();
    return run.template Width<ResidualShape::kPlain, kCols>();
  }
  int AnyWidth() { return run.AnyWidth(); }
};
template <class Pair, class Run>
int DispatchForm(const normlab_residual_form& form, std::int64_t cols, Run run) {
  return HasShape(form) ? DispatchWidthOf<Pair>(cols, OfForm<Pair, Run>{form, run})
                        : run.AnyWidth();
}

inline int CheckStages(const normlab_residual_form& form, int alignment) {
  NORMLAB_RETURN_IF_FAULT(CheckParameter("b_columns", form.b_columns, alignment));
  const std::pair<std::string, const normlab_norm_stage*> stages[] = {
      {"branch ", &form.branch}, {"post ", &form.post}, {"next ", &form.next}};
  for (const auto& [name, stage] : stages) {
    if (stage->present == 0) continue;
    NORMLAB_RETURN_IF_FAULT(CheckParameter((name + "gain").c_str(), stage->gain, alignment));
    NORMLAB_RETURN_IF_FAULT(CheckParameter((name + "bias").c_str(), stage->bias, alignment));
  }
  return NORMLAB_OK;
}

// ---- any width ---------------------------------------------------------------------------------

template <class Real>
__device__ __forceinline__ double ApplyAny(const normlab_norm_stage& stage, const Statistics& row,
                                           std::int64_t column, double value) {
  const double unit = (value - row.mean) * row.rstd;
  return unit * ParameterAt<Real>(stage.gain, column, 1) + ParameterAt<Real>(stage.bias, column, 0);
}

// One row of an update as functions of the column, everything worked out again from memory.
template <class Real, class X, class G>
struct AnyRow {
  const normlab_residual_form& form;
  double factor;
  const X* x;
  const G* g;
  Statistics branch;

  __device__ AnyRow(const normlab_residual_form& the_form, double the_factor, const X* the_x,
                    const G* the_g, std::int64_t cols)
      : form(the_form), factor(the_factor), x(the_x), g(the_g), branch{0, 1} {
    if (form.branch.present == 0) return;
    branch = AnyStatistics(form.branch.options, cols,
                           [&](std::int64_t c) { return Get<double>(g + c); });
  }

  __device__ double Unit(std::int64_t c) const {
    return (Get<double>(g + c) - branch.mean) * branch.rstd;
  }
  __device__ double Branch(std::int64_t c) const {
    const double value = Get<double>(g + c);
    return form.branch.present != 0 ? ApplyAny<Real>(form.branch, branch, c, value) : value;
  }
  __device__ double FactorAt(std::int64_t c) const {
    return factor * ParameterAt<Real>(form.b_columns, c, 1);
  }
  __device__ double Sum(std::int64_t c) const {
    return form.a * Get<double>(x + c) + FactorAt(c) * Branch(c);
  }
};

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_RESIDUAL_RESIDUAL_DEVICE_CUH_
