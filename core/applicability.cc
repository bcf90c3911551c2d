#include "core/applicability.h"

#include "core/placement_facts.h"
#include "core/run_config.h"

namespace normlab::applies {

namespace {

const PlacementFacts& FactsOf(const RunConfig& config) {
  return FindPlacementFacts(config.Text("norm.placement"));
}

bool Is(const RunConfig& config, std::string_view placement) {
  return config.Text("norm.placement") == placement;
}

// Angles of Pre-Norm's implicit rotation; only `geo` has the choice.
bool FixedAngle(const RunConfig& config) {
  return Is(config, "geo") && config.Text("norm.angle") == "prenorm";
}

}  // namespace

bool AnyNorm(const RunConfig& config) {
  const PlacementFacts& facts = FactsOf(config);
  return facts.norms || config.Bool("norm.final") || config.Bool("norm.embedding") ||
         (facts.sphere && config.Bool("norm.inner"));
}

bool Sphere(const RunConfig& config) { return FactsOf(config).sphere; }

bool SphereAdaptive(const RunConfig& config) { return Sphere(config) && !FixedAngle(config); }

bool Angle(const RunConfig& config) { return Is(config, "geo"); }

bool Decay(const RunConfig& config) { return FactsOf(config).decays && !FixedAngle(config); }

bool DecayUnit(const RunConfig& config) {
  return Decay(config) && config.Text("norm.decay") != "none";
}

bool PbRelax(const RunConfig& config) { return Is(config, "sandwich"); }

bool NotSphere(const RunConfig& config) { return !Sphere(config); }

bool Scaled(const RunConfig& config) { return Is(config, "scaled"); }

bool ProRes(const RunConfig& config) { return Is(config, "prores"); }

// It scales the gains of the output norms where there are such norms, so without gains nothing.
bool ResidualScale(const RunConfig& config) {
  return !FactsOf(config).norm_out || config.Bool("norm.gain");
}

bool Scheduled(const RunConfig& config) { return config.Text("train.schedule") != "constant"; }

}  // namespace normlab::applies
