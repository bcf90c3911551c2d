#include "model/parameters.h"

#include <ATen/ATen.h>

#include <functional>
#include <numeric>

namespace normlab::model {
namespace {

using Shapes = std::vector<ParameterShape>;

void AddNorm(const ModelSpec& spec, const std::string& name, Shapes& out) {
  if (!spec.norm.gain) return;
  out.push_back({name + ".gain", {spec.width}});
  if (spec.norm.bias) out.push_back({name + ".bias", {spec.width}});
}

void AddLinear(const ModelSpec& spec, const std::string& name, int64_t to, int64_t from,
               Shapes& out) {
  out.push_back({name + ".weight", {to, from}});
  if (spec.bias) out.push_back({name + ".bias", {to}});
}

void AddSublayer(const ModelSpec& spec, const SublayerSpec& sublayer, Shapes& out) {
  const bool attention = sublayer.branch == Branch::kAttention;
  const std::string name =
      "blocks." + std::to_string(sublayer.block - 1) + (attention ? ".attn" : ".ffn");
  if (sublayer.norm_in) AddNorm(spec, name + ".norm_in", out);
  if (attention) {
    AddLinear(spec, name + ".qkv", 3 * spec.width, spec.width, out);
    AddLinear(spec, name + ".out", spec.width, spec.width, out);
  } else {
    AddLinear(spec, name + ".up", spec.ffn, spec.width, out);
    AddLinear(spec, name + ".down", spec.width, spec.ffn, out);
  }
  if (sublayer.norm_out) AddNorm(spec, name + ".norm_out", out);
  if (sublayer.norm_post) AddNorm(spec, name + ".norm_post", out);
  if (sublayer.scale == BranchScale::kLearnedScalar) out.push_back({name + ".scale", {1}});
  if (sublayer.scale == BranchScale::kLearnedChannels) {
    out.push_back({name + ".scale", {spec.width}});
  }
  if (sublayer.angle.affine) {
    out.push_back({name + ".angle_scale", {1}});
    out.push_back({name + ".angle_bias", {1}});
  }
}

}  // namespace

int64_t ParameterShape::Count() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<ParameterShape> ParameterShapes(const ModelSpec& spec) {
  Shapes shapes;
  shapes.push_back({"embed.token", {spec.vocab, spec.width}});
  if (spec.positions == Positions::kLearned) {
    shapes.push_back({"embed.position", {spec.seq_len, spec.width}});
  }
  if (spec.norm_embedding) AddNorm(spec, "norm_embedding", shapes);
  for (const SublayerSpec& sublayer : spec.sublayers) AddSublayer(spec, sublayer, shapes);
  if (spec.norm_final) AddNorm(spec, "norm_final", shapes);
  if (!spec.tied_head) shapes.push_back({"head.weight", {spec.vocab, spec.width}});
  return shapes;
}

int64_t ParameterCount(const ModelSpec& spec) {
  int64_t count = 0;
  for (const ParameterShape& shape : ParameterShapes(spec)) count += shape.Count();
  return count;
}

Parameters::Parameters(const ModelSpec& spec, at::Device device) {
  const std::vector<ParameterShape> shapes = ParameterShapes(spec);
  const int64_t total = ParameterCount(spec);
  const auto options = at::TensorOptions(device).dtype(
      spec.precision == Precision::kFp64 ? at::kDouble : at::kFloat);
  values_ = at::zeros({total}, options);
  grads_ = at::zeros({total}, options);
  if (spec.precision == Precision::kBf16) {
    shadows_ = at::zeros({total}, options.dtype(at::kBFloat16));
  }
  for (const ParameterShape& shape : shapes) {
    if (shape.Decays()) decayed_ += shape.Count();
  }
  int64_t decayed_end = 0;
  int64_t other_end = decayed_;
  for (const ParameterShape& shape : shapes) {
    int64_t& end = shape.Decays() ? decayed_end : other_end;
    all_.push_back({shape, {}, end});
    end += shape.Count();
  }
  MakeLeaves();
}

void Parameters::MakeLeaves() {
  for (Parameter& parameter : all_) {
    parameter.value = ViewOf(values_, parameter).detach().set_requires_grad(true);
    // With a gradient already in place, autograd adds into it instead of allocating one per step.
    parameter.value.mutable_grad() = ViewOf(grads_, parameter);
  }
}

Parameters Parameters::WithOwnGrads() const {
  Parameters copy;
  copy.all_ = all_;
  copy.values_ = values_;
  copy.grads_ = at::zeros_like(grads_);
  copy.shadows_ = shadows_;
  copy.decayed_ = decayed_;
  copy.MakeLeaves();
  return copy;
}

at::Tensor Parameters::Find(const std::string& name) const {
  const Parameter* const parameter = FindParameter(name);
  return parameter != nullptr ? parameter->value : at::Tensor();
}

const Parameter* Parameters::FindParameter(const std::string& name) const {
  for (const Parameter& parameter : all_) {
    if (parameter.shape.name == name) return &parameter;
  }
  return nullptr;
}

at::Tensor Parameters::FindShadow(const std::string& name) const {
  const Parameter* const parameter = FindParameter(name);
  if (parameter == nullptr || !shadows_.defined()) return {};
  return ViewOf(shadows_, *parameter);
}

at::Tensor Parameters::ViewOf(const at::Tensor& flat, const Parameter& parameter) const {
  return flat.narrow(0, parameter.offset, parameter.shape.Count()).view(parameter.shape.shape);
}

void Parameters::RefreshShadows() {
  if (shadows_.defined()) shadows_.copy_(values_);
}

}  // namespace normlab::model
