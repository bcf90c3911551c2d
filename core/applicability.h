#ifndef NORMLAB_CORE_APPLICABILITY_H_
#define NORMLAB_CORE_APPLICABILITY_H_

namespace normlab {

class RunConfig;

// When a knob means something. Each is a predicate over the resolved config, named after the knobs
// that the table gives it to.
namespace applies {

bool AnyNorm(const RunConfig& config);         // norm.kind, norm.eps, norm.gain
bool Sphere(const RunConfig& config);          // norm.inner
bool SphereAdaptive(const RunConfig& config);  // norm.alpha, norm.retraction, norm.angle_clamp
bool Angle(const RunConfig& config);           // norm.angle
bool Decay(const RunConfig& config);           // norm.decay
bool DecayUnit(const RunConfig& config);       // norm.decay_unit
bool PbRelax(const RunConfig& config);         // norm.pb_relax
bool NotSphere(const RunConfig& config);       // residual.dt
bool Scaled(const RunConfig& config);          // residual.scale
bool ProRes(const RunConfig& config);          // residual.warmup
bool ResidualScale(const RunConfig& config);   // init.residual_scale
bool Scheduled(const RunConfig& config);       // train.warmup, train.min_lr_ratio

}  // namespace applies

}  // namespace normlab

#endif  // NORMLAB_CORE_APPLICABILITY_H_
