#include "model/probes/sensitivity.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <limits>

#include "model/counter_rng.h"

namespace normlab::model {
namespace {

// J and Jᵀ at one point, by sequence; vectors are [B, n] with n = T·d. The graphs are built once.
class JacobianProducts {
 public:
  JacobianProducts(const std::function<at::Tensor(const at::Tensor&)>& branch, const at::Tensor& x)
      : x_(x.detach().clone().set_requires_grad(true)), y_(branch(x_)) {
    // Its value is of no account: the backward pass is linear in it.
    cotangent_ = at::zeros_like(y_).set_requires_grad(true);
    pulled_ = torch::autograd::grad({y_}, {x_}, {cotangent_}, /*retain_graph=*/true,
                                    /*create_graph=*/true)[0];
  }

  at::Tensor Forward(const at::Tensor& v) const { return Differentiate(pulled_, cotangent_, v); }
  at::Tensor Transposed(const at::Tensor& u) const { return Differentiate(y_, x_, u); }

 private:
  static at::Tensor Differentiate(const at::Tensor& of, const at::Tensor& by,
                                  const at::Tensor& with) {
    return torch::autograd::grad({of}, {by}, {with.view(of.sizes())}, /*retain_graph=*/true)[0]
        .flatten(1);
  }

  at::Tensor x_, y_, cotangent_, pulled_;
};

// An orthonormal basis by sequence that grows vector by vector.
class Basis {
 public:
  // Makes w [B, n] orthogonal to what is there, appends its direction, and returns its length
  // [B, 1]. Where nothing is left of w the direction is zero.
  at::Tensor Append(at::Tensor w) {
    if (!vectors_.empty()) {
      const at::Tensor all = at::stack(vectors_, 1);  // [B, j, n]
      // Twice is enough (Kahan): once loses digits where w is almost in the span.
      for (int pass = 0; pass < 2; ++pass) {
        const at::Tensor along = at::matmul(all, w.unsqueeze(-1));
        w = w - at::matmul(all.transpose(1, 2), along).squeeze(-1);
      }
    }
    const at::Tensor length = at::linalg_vector_norm(w, 2, {1}, /*keepdim=*/true);
    vectors_.push_back(w / at::where(length == 0, at::ones_like(length), length));
    return length;
  }
  const at::Tensor& Last() const { return vectors_.back(); }

 private:
  std::vector<at::Tensor> vectors_;
};

at::Tensor StartVector(const at::Tensor& x, uint64_t seed) {
  const int64_t entries = x.size(1) * x.size(2);
  std::vector<double> normals(entries);
  CounterRng(seed, "probe/sensitivity").FillNormal(normals.data(), entries);
  return at::from_blob(normals.data(), {1, entries}, at::kDouble)
      .to(x.options().requires_grad(false), /*non_blocking=*/false, /*copy=*/true)
      .expand({x.size(0), entries});
}

}  // namespace

Transformer DifferentiableTwice(const ModelSpec& spec, const Parameters& parameters) {
  ModelSpec probed = spec;
  probed.composed_norms = true;
  if (probed.precision == Precision::kBf16) probed.precision = Precision::kFp32;
  return Transformer(probed, parameters);
}

at::Tensor BidiagonalJacobian(const std::function<at::Tensor(const at::Tensor&)>& branch,
                              const at::Tensor& x, uint64_t seed, int64_t iterations) {
  const at::AutoGradMode differentiate(true);
  const JacobianProducts jacobian(branch, x);
  const at::AutoGradMode only_numbers(false);
  const int64_t size = std::min(iterations, x.size(1) * x.size(2));
  Basis inputs, outputs;
  inputs.Append(StartVector(x, seed));
  std::vector<at::Tensor> diagonal, above;
  for (int64_t k = 0; k < size; ++k) {
    diagonal.push_back(outputs.Append(jacobian.Forward(inputs.Last())));
    if (k + 1 < size) above.push_back(inputs.Append(jacobian.Transposed(outputs.Last())));
  }
  at::Tensor form = at::diag_embed(at::cat(diagonal, 1).to(at::kDouble));
  if (!above.empty()) form = form + at::diag_embed(at::cat(above, 1).to(at::kDouble), 1);
  return form;
}

at::Tensor LargestSingularValue(const at::Tensor& matrices) {
  const at::NoGradGuard no_grad;
  const at::Tensor here = matrices.cpu();
  const at::Tensor finite = here.isfinite().flatten(-2).all(-1);
  const at::Tensor values = at::linalg_svdvals(here.nan_to_num(0.0, 0.0, 0.0)).select(-1, 0);
  return values.masked_fill(finite.logical_not(), std::numeric_limits<double>::quiet_NaN());
}

std::vector<ProfileRecord> SensitivityProfiles(const ModelSpec& spec, const Parameters& parameters,
                                               const Tape& tape, int64_t step) {
  const Transformer model = DifferentiableTwice(spec, parameters);
  ForwardOptions forward;
  forward.attention = AttentionPath::kMath;
  std::vector<at::Tensor> forms;
  for (int64_t s = 0; s < static_cast<int64_t>(spec.sublayers.size()); ++s) {
    const at::Tensor& hidden = tape.hidden[s];
    const at::Tensor x = hidden.narrow(0, 0, std::min(kSensitivitySequences, hidden.size(0)));
    const auto branch = [&](const at::Tensor& input) { return model.Branch(s, input, forward); };
    forms.push_back(BidiagonalJacobian(branch, x, spec.init.seed, kSensitivityIterations));
  }
  const at::Tensor sigma = LargestSingularValue(at::stack(forms)).mean(1).contiguous();
  const double* values = sigma.const_data_ptr<double>();
  return {{step, "sensitivity", 1, {values, values + sigma.numel()}}};
}

}  // namespace normlab::model
