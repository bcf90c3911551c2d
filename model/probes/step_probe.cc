#include "model/probes/step_probe.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "core/check.h"
#include "model/probes/profile.h"

namespace normlab::model {
namespace {

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
  for (const char* type : {"attn.qkv", "attn.out", "ffn.up", "ffn.down"}) {
    types_.push_back({type, {}});
  }
  for (int64_t block = 0; block < spec.layers; ++block) {
    for (MatrixType& type : types_) {
      type.by_block.push_back(parameters.FindParameter("blocks." + std::to_string(block) + "." +
                                                       type.name + ".weight"));
      CHECK(type.by_block.back() != nullptr) << type.name;
    }
  }
}

void StepProbe::WatchStream(int64_t shard, size_t s, const at::Tensor& x) {
  if (s % 2 != 0) return;  // between the two sublayers of a block
  x.register_hook([squares = stream_squares_[shard], block = s / 2](const at::Tensor& grad) {
    (*squares)[block] = (*squares)[block] + Frobenius(grad).square();
  });
}

void StepProbe::MeasureGradients() {
  const at::NoGradGuard no_grad;
  for (const MatrixType& type : types_) {
    std::vector<at::Tensor> rms;
    for (const Parameter* matrix : type.by_block) {
      rms.push_back(Frobenius(parameters_.ViewOf(parameters_.grads(), *matrix)) /
                    RootCount(*matrix));
    }
    keys_.push_back("param_grad_rms." + type.name);
    columns_.push_back(std::move(rms));
  }
}

void StepProbe::MeasureUpdate(const AdamW& optimizer, int64_t step, double lr) {
  const at::NoGradGuard no_grad;
  const AdamWOptions& options = optimizer.options();
  const double correct_m = 1.0 - std::pow(options.beta1, static_cast<double>(step));
  const double correct_v = 1.0 - std::pow(options.beta2, static_cast<double>(step));
  for (const MatrixType& type : types_) {
    std::vector<at::Tensor> updates, rms, below_eps;
    for (const Parameter* matrix : type.by_block) {
      at::Tensor root = parameters_.ViewOf(optimizer.v(), *matrix).sqrt();
      root.div_(std::sqrt(correct_v));
      below_eps.push_back((root < options.eps).sum().to(at::kDouble) /
                          static_cast<double>(matrix->shape.Count()));
      const at::Tensor direction =
          parameters_.ViewOf(optimizer.m(), *matrix).div(root.add_(options.eps));
      const at::Tensor size = Frobenius(direction) / correct_m;
      updates.push_back(size * lr / Frobenius(matrix->value));
      rms.push_back(size / RootCount(*matrix));
    }
    for (const char* key : {"param_update.", "adam_rms.", "adam_below_eps."}) {
      keys_.push_back(key + type.name);
    }
    columns_.push_back(std::move(updates));
    columns_.push_back(std::move(rms));
    columns_.push_back(std::move(below_eps));
  }
}

std::vector<ProfileRecord> StepProbe::Profiles(int64_t step) const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> scalars;
  const size_t streams = stream_squares_.front()->size();
  for (size_t block = 0; block < streams; ++block) {
    at::Tensor sum = (*stream_squares_.front())[block];
    for (size_t shard = 1; shard < stream_squares_.size(); ++shard) {
      sum = sum + (*stream_squares_[shard])[block];
    }
    scalars.push_back(sum.sqrt());
  }
  for (const auto& column : columns_) scalars.insert(scalars.end(), column.begin(), column.end());
  const at::Tensor all = at::stack(scalars).cpu();
  const double* next = all.const_data_ptr<double>();
  std::vector<ProfileRecord> profiles;
  const auto take = [&](const std::string& key, int32_t first_index, size_t count) {
    profiles.push_back({step, key, first_index, {next, next + count}});
    next += count;
  };
  take("stream_grad", 0, streams);
  for (size_t k = 0; k < keys_.size(); ++k) take(keys_[k], 1, columns_[k].size());
  return profiles;
}

}  // namespace normlab::model
