#include "model/probes/step_probe.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "core/check.h"
#include "model/probes/profile.h"

namespace normlab::model {
namespace {

constexpr const char* kMatrixTypes[] = {"attn.qkv", "attn.out", "ffn.up", "ffn.down"};

at::Tensor Frobenius(const at::Tensor& x) {
  return at::linalg_vector_norm(x, 2, {}, /*keepdim=*/false, at::kDouble);
}

double RootCount(const Parameter& parameter) {
  return std::sqrt(static_cast<double>(parameter.shape.Count()));
}

}  // namespace

StepProbe::StepProbe(const ModelSpec& spec, const Parameters& parameters, int64_t shards)
    : parameters_(parameters) {
  const at::Tensor zero = at::zeros({}, parameters.values().options().dtype(at::kDouble));
  for (int64_t shard = 0; shard < shards; ++shard) {
    stream_squares_.push_back(std::make_shared<std::vector<at::Tensor>>(spec.layers + 1, zero));
  }
  for (const char* type : kMatrixTypes) {
    for (int64_t block = 0; block < spec.layers; ++block) {
      matrices_.push_back(
          parameters.FindParameter("blocks." + std::to_string(block) + "." + type + ".weight"));
      CHECK(matrices_.back() != nullptr) << type;
    }
  }
}

void StepProbe::WatchStream(int64_t shard, size_t s, const at::Tensor& x) {
  if (s % 2 != 0) return;  // between the two sublayers of a block
  x.register_hook([squares = stream_squares_[shard], block = s / 2](const at::Tensor& grad) {
    (*squares)[block] = (*squares)[block] + Frobenius(grad).square();
  });
}

std::vector<at::Tensor> StepProbe::MeasureMatrices(
    const std::function<at::Tensor(const Parameter&)>& measure) const {
  int64_t largest = 0;
  for (const Parameter* matrix : matrices_) largest = std::max(largest, matrix->shape.Count());
  return MeasureEach(static_cast<int64_t>(matrices_.size()), parameters_.values().device(), largest,
                     [&](int64_t i) { return measure(*matrices_[i]); });
}

void StepProbe::MeasureGradients() {
  gradients_ = at::stack(MeasureMatrices([this](const Parameter& matrix) {
    return Frobenius(parameters_.ViewOf(parameters_.grads(), matrix)) / RootCount(matrix);
  }));
}

void StepProbe::MeasureUpdate(const AdamW& optimizer, int64_t step, double lr) {
  const AdamWOptions& options = optimizer.options();
  const double correct_m = 1.0 - std::pow(options.beta1, static_cast<double>(step));
  const double correct_v = 1.0 - std::pow(options.beta2, static_cast<double>(step));
  const auto measure = [&](const Parameter& matrix) {
    at::Tensor root = parameters_.ViewOf(optimizer.v(), matrix).sqrt();
    root.div_(std::sqrt(correct_v));
    const at::Tensor below_eps =
        (root < options.eps).sum().to(at::kDouble) / static_cast<double>(matrix.shape.Count());
    const at::Tensor direction =
        parameters_.ViewOf(optimizer.m(), matrix).div(root.add_(options.eps));
    const at::Tensor size = Frobenius(direction) / correct_m;
    return at::stack({size * lr / Frobenius(matrix.value), size / RootCount(matrix), below_eps});
  };
  updates_ = at::stack(MeasureMatrices(measure), 1);
}

std::vector<ProfileRecord> StepProbe::Profiles(int64_t step) const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> streams;
  for (size_t block = 0; block < stream_squares_.front()->size(); ++block) {
    at::Tensor sum = (*stream_squares_.front())[block];
    for (size_t shard = 1; shard < stream_squares_.size(); ++shard) {
      sum = sum + (*stream_squares_[shard])[block];
    }
    streams.push_back(sum.sqrt());
  }
  const at::Tensor all = at::cat({at::stack(streams), gradients_, updates_.flatten()}).cpu();
  const double* const values = all.const_data_ptr<double>();
  const double* const by_matrix = values + streams.size();
  const size_t matrices = matrices_.size(), layers = matrices / std::size(kMatrixTypes);
  std::vector<ProfileRecord> profiles = {
      {step, "stream_grad", 0, {values, values + streams.size()}}};
  const auto add = [&](const char* key, size_t row, size_t type) {
    const double* const first = by_matrix + row * matrices + type * layers;
    profiles.push_back({step, std::string(key) + kMatrixTypes[type], 1, {first, first + layers}});
  };
  for (size_t type = 0; type < std::size(kMatrixTypes); ++type) add("param_grad_rms.", 0, type);
  for (size_t type = 0; type < std::size(kMatrixTypes); ++type) {
    add("param_update.", 1, type);
    add("adam_rms.", 2, type);
    add("adam_below_eps.", 3, type);
  }
  return profiles;
}

}  // namespace normlab::model
