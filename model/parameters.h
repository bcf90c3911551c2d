// The parameters of a model: named leaf tensors that are views into one flat buffer, as are their
// gradients. The flat form makes clipping one reduction and AdamW two calls; the names are those of
// the checkpoint (docs: `blocks.{i}.attn.qkv.weight`, weights [out, in]).
//
// Under bf16 these are the master weights, in fp32, and beside them stands a bf16 copy that the
// matrix products read. Whoever changes values() calls RefreshShadows() afterwards.
#ifndef NORMLAB_MODEL_PARAMETERS_H_
#define NORMLAB_MODEL_PARAMETERS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/model_spec.h"

namespace normlab::model {

struct ParameterShape {
  std::string name;
  std::vector<int64_t> shape;
  int64_t Count() const;
  // Weight decay acts on tensors with two dimensions or more only.
  bool Decays() const { return shape.size() >= 2; }
};

// Every parameter of the model in reading order (embeddings, blocks, final norm, head).
std::vector<ParameterShape> ParameterShapes(const ModelSpec& spec);

// How many numbers they hold.
int64_t ParameterCount(const ModelSpec& spec);

struct Parameter {
  ParameterShape shape;
  at::Tensor value;    // leaf with requires_grad, a view of values()
  int64_t offset = 0;  // in the flat buffers
};

class Parameters {
 public:
  // Zero-filled on `device`, in fp64 or fp32.
  explicit Parameters(const ModelSpec& spec, at::Device device = at::kCPU);

  // The same values (and bf16 copies), not copied, with gradients of their own, zero.
  Parameters WithOwnGrads() const;

  const std::vector<Parameter>& all() const { return all_; }
  // The tensor of that name, undefined if the model has none.
  at::Tensor Find(const std::string& name) const;
  // Its bf16 copy; undefined unless the precision is bf16.
  at::Tensor FindShadow(const std::string& name) const;
  // The parameter of that name, null if the model has none.
  const Parameter* FindParameter(const std::string& name) const;

  // Flat buffers [numel]; the first decayed() entries belong to tensors with weight decay.
  const at::Tensor& values() const { return values_; }
  const at::Tensor& grads() const { return grads_; }
  int64_t decayed() const { return decayed_; }

  // The part of a flat buffer shaped like `parameter`.
  at::Tensor ViewOf(const at::Tensor& flat, const Parameter& parameter) const;
  // Rounds all values into their bf16 copies, to nearest even; does nothing where there are none.
  void RefreshShadows();

 private:
  Parameters() = default;
  // Makes the leaf of every parameter out of values_ and grads_.
  void MakeLeaves();

  std::vector<Parameter> all_;
  at::Tensor values_, grads_;
  at::Tensor shadows_;  // bf16, laid out as values_; undefined unless the precision is bf16
  int64_t decayed_ = 0;
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PARAMETERS_H_
