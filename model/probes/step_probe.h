// What one optimiser step does, by depth: gradients of the step's mean loss L over all its
// micro-batches, before clipping, and the update that AdamW makes of them.
//   stream_grad             ‖∂L/∂X_2i‖_F over the whole batch; entry i = 0 … L is the stream after
//                           block i (0: what enters the first)
// and by block i = 1 … L for each matrix type (attn.qkv, attn.out, ffn.up, ffn.down):
//   param_grad_rms.TYPE     ‖∂L/∂W‖_F/√numel
//   param_update.TYPE       lr·‖û‖_F/‖W‖_F with the new W: the step without its weight decay
//   adam_rms.TYPE           ‖û‖_F/√numel
//   adam_below_eps.TYPE     share of entries with √v̂ < eps, where Adam is no longer scale-free
// where û = m̂/(√v̂ + eps), with the corrected moments after the step.
#ifndef NORMLAB_MODEL_PROBES_STEP_PROBE_H_
#define NORMLAB_MODEL_PROBES_STEP_PROBE_H_

#include <functional>
#include <memory>
#include <vector>

#include "core/record.h"
#include "model/optimizer.h"
#include "model/parameters.h"
#include "model/transformer.h"

namespace normlab::model {

// Accompanies one step; sums stay on the device in fp64 until Profiles().
class StepProbe {
 public:
  // `parameters` must outlive it.
  StepProbe(const ModelSpec& spec, const Parameters& parameters, int64_t shards);

  // For ForwardOptions::on_stream of each micro-batch and shard (0 … shards − 1). Its gradients are
  // measured as they pass by; neither they nor X_s are kept. Shards may go side by side.
  void WatchStream(int64_t shard, size_t s, const at::Tensor& x);
  // After the last backward pass, before clipping.
  void MeasureGradients();
  // After the optimiser's update number `step` (from 1).
  void MeasureUpdate(const AdamW& optimizer, int64_t step, double lr);

  // All of the above, brought over in one transfer.
  std::vector<ProfileRecord> Profiles(int64_t step) const;

 private:
  std::vector<at::Tensor> MeasureMatrices(
      const std::function<at::Tensor(const Parameter&)>& measure) const;

  const Parameters& parameters_;
  std::vector<const Parameter*> matrices_;  // by type, then by block
  // By shard and block: Σ over micro-batches of ‖∂L/∂X_2i‖², filled while a backward pass runs.
  std::vector<std::shared_ptr<std::vector<at::Tensor>>> stream_squares_;
  at::Tensor gradients_;  // by matrix
  at::Tensor updates_;    // [3, matrices]: param_update, adam_rms, adam_below_eps
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_STEP_PROBE_H_
