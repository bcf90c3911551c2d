#include "model/init.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "model/counter_rng.h"

namespace normlab::model {
namespace {

constexpr double kLayerScaleStart = 1e-4;

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool IsOutputProjection(std::string_view name) {
  return EndsWith(name, "attn.out.weight") || EndsWith(name, "ffn.down.weight");
}

// The sublayer that a parameter `blocks.{i}.{attn,ffn}.…` belongs to; null for all others.
const SublayerSpec* SublayerOf(const ModelSpec& spec, const std::string& name) {
  if (name.rfind("blocks.", 0) != 0) return nullptr;
  const int64_t block = std::stoll(name.substr(7));
  const bool ffn = name.find(".ffn.") != std::string::npos;
  return &spec.sublayers[2 * block + (ffn ? 1 : 0)];
}

double XavierStd(int64_t fan_out, int64_t fan_in) {
  return std::sqrt(2.0 / static_cast<double>(fan_out + fan_in));
}

// The deviation of each third of the rows of a weight: q, k and v of a fused projection; other
// weights have three equal ones.
struct RowStds {
  double q, k, v;
  static RowStds All(double std) { return {std, std, std}; }
};

RowStds XavierStds(const std::string& name, const std::vector<int64_t>& shape, double v_gain) {
  if (!EndsWith(name, "qkv.weight")) {
    return RowStds::All(v_gain * XavierStd(shape[0], shape[1]));
  }
  const double std = XavierStd(shape[0] / 3, shape[1]);
  return {std, std, v_gain * std};
}

RowStds SmallWangStds(const ModelSpec& spec, const std::string& name) {
  const double width = static_cast<double>(spec.width);
  if (IsOutputProjection(name)) {
    return RowStds::All(2.0 / (static_cast<double>(spec.layers) * std::sqrt(width)));
  }
  return RowStds::All(std::sqrt(2.0 / (5.0 * width)));
}

RowStds Gpt2Stds(const ModelSpec& spec, const std::string& name) {
  const double shrink = IsOutputProjection(name) ? std::sqrt(2.0 * spec.layers) : 1.0;
  return RowStds::All(spec.init.std / shrink);
}

RowStds PlacementStds(const ModelSpec& spec, const std::string& name,
                      const std::vector<int64_t>& shape, InitRule rule, bool is_head) {
  switch (rule) {
    case InitRule::kPlain:
      return RowStds::All(spec.init.std);
    case InitRule::kScaledOutput:
      return Gpt2Stds(spec, name);
    case InitRule::kSmallSphere:
      return SmallWangStds(spec, name);
    case InitRule::kDeepNorm:
      if (is_head) return RowStds::All(spec.init.std);
      return XavierStds(name, shape, std::pow(8.0 * spec.layers, -0.25));
  }
  CHECK(false) << "unknown initialisation";
  __builtin_unreachable();
}

RowStds StdsOf(const ModelSpec& spec, const std::string& name, const std::vector<int64_t>& shape) {
  const SublayerSpec* sublayer = SublayerOf(spec, name);
  const bool is_head = name == "head.weight";
  if (sublayer == nullptr && !is_head) return RowStds::All(spec.init.std);
  switch (spec.init.scheme) {
    case InitScheme::kPlacement:
      return PlacementStds(spec, name, shape, sublayer ? sublayer->init : spec.head_init, is_head);
    case InitScheme::kGpt2:
      return Gpt2Stds(spec, name);
    case InitScheme::kSmallWang:
      return SmallWangStds(spec, name);
    case InitScheme::kXavier:
      return is_head ? RowStds::All(spec.init.std) : XavierStds(name, shape, 1.0);
  }
  CHECK(false) << "unknown initialisation scheme";
  __builtin_unreachable();
}

void FillWeight(const ModelSpec& spec, const ParameterShape& shape, const at::Tensor& value) {
  std::vector<double> normals(shape.Count());
  CounterRng(spec.init.seed, "init/" + shape.name).FillNormal(normals.data(), shape.Count());
  at::Tensor drawn = at::from_blob(normals.data(), shape.shape, at::kDouble);
  RowStds stds = StdsOf(spec, shape.name, shape.shape);
  if (IsOutputProjection(shape.name)) {
    double factor = spec.init.output_scale;
    const SublayerSpec* sublayer = SublayerOf(spec, shape.name);
    // The control for Δt: branches start smaller. An output norm would undo a smaller projection,
    // so there the norm's gain starts smaller instead.
    if (!sublayer->norm_out || !spec.norm.gain) factor *= spec.init.residual_scale;
    stds = {stds.q * factor, stds.k * factor, stds.v * factor};
  }
  if (stds.q == stds.k && stds.k == stds.v) {
    drawn.mul_(stds.q);
  } else {
    const int64_t third = shape.shape[0] / 3;
    drawn.narrow(0, 0, third).mul_(stds.q);
    drawn.narrow(0, third, third).mul_(stds.k);
    drawn.narrow(0, 2 * third, third).mul_(stds.v);
  }
  value.copy_(drawn);
}

void FillVector(const ModelSpec& spec, const ParameterShape& shape, const at::Tensor& value) {
  const std::string& name = shape.name;
  if (EndsWith(name, "norm_out.gain")) {
    value.fill_(spec.init.residual_scale);
  } else if (EndsWith(name, ".gain") || EndsWith(name, ".angle_scale")) {
    value.fill_(1.0);
  } else if (EndsWith(name, ".scale")) {
    value.fill_(SublayerOf(spec, name)->scale == BranchScale::kLearnedChannels ? kLayerScaleStart
                                                                               : 0.0);
  } else {
    value.zero_();
  }
}

}  // namespace

void InitialiseParameters(const ModelSpec& spec, Parameters& parameters) {
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.shape.shape.size() >= 2) {
      FillWeight(spec, parameter.shape, parameter.value);
    } else {
      FillVector(spec, parameter.shape, parameter.value);
    }
  }
  parameters.RefreshShadows();
}

}  // namespace normlab::model
