// A small model after one forward pass, and what its probes said.
#ifndef NORMLAB_TESTS_MODEL_PROBED_MODEL_H_
#define NORMLAB_TESTS_MODEL_PROBED_MODEL_H_

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "model/init.h"
#include "model/transformer.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {

using Overrides = std::vector<std::pair<std::string, std::string>>;

// Sizes that no kernel likes.
inline Overrides AwkwardShape() {
  return {{"model.layers", "1"}, {"model.width", "100"}, {"model.heads", "5"},
          {"model.ffn", "97"},   {"model.seq_len", "7"}, {"model.bias", "true"}};
}

inline ModelSpec SpecWith(const std::string& placement, const Overrides& overrides) {
  RunConfig config = TinyConfig(placement);
  CHECK_OK(config.Parse("train.precision", "fp64"));
  for (const auto& [key, text] : overrides) CHECK_OK(config.Parse(key, text));
  return MakeModelSpec(config, /*data_vocab=*/29);
}

struct Forwarded {
  // All weights are `factor` times their initial values: with 4, every term of a formula shows.
  explicit Forwarded(const std::string& placement, const Overrides& overrides = {},
                     double factor = 1.0)
      : spec(SpecWith(placement, overrides)), parameters(spec), model(spec, parameters) {
    InitialiseParameters(spec, parameters);
    const at::NoGradGuard no_grad;
    parameters.values().mul_(factor);
    parameters.RefreshShadows();
    at::Generator generator = at::detail::createCPUGenerator(9);
    tokens = at::randint(0, spec.vocab, {3, spec.seq_len}, generator, at::kLong);
    targets = at::randint(0, spec.vocab, {3, spec.seq_len}, generator, at::kLong);
    ForwardOptions options;
    options.tape = &tape;
    model.Forward(tokens, options);
  }
  ModelSpec spec;
  Parameters parameters;
  Transformer model;
  at::Tensor tokens, targets;
  Tape tape;
};

inline const std::vector<double>& Find(const std::vector<ProfileRecord>& profiles,
                                       const std::string& key) {
  for (const ProfileRecord& profile : profiles) {
    if (profile.key == key) return profile.values;
  }
  ADD_FAILURE() << "no profile " << key;
  static const std::vector<double> none;
  return none;
}

}  // namespace normlab::model

#endif  // NORMLAB_TESTS_MODEL_PROBED_MODEL_H_
