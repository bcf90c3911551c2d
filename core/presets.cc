#include "core/presets.h"

#include "core/check.h"

namespace normlab {

namespace {

// Three times this suits `pre`, but leaves `deep` at the unigram level: docs/science.md, part 6.
constexpr double kNanoLr = 1e-3;
constexpr double kMicroLr = 1e-3;

constexpr Preset Gpt2(std::string_view name, int64_t layers, int64_t width, int64_t heads,
                      double lr) {
  return {name,
          layers,
          width,
          heads,
          lr,
          /*rotary=*/false,
          /*gelu_tanh=*/true,
          /*padded_vocab=*/true};
}

constexpr Preset Neox(std::string_view name, int64_t layers, int64_t width, int64_t heads,
                      double lr) {
  return {name,
          layers,
          width,
          heads,
          lr,
          /*rotary=*/true,
          /*gelu_tanh=*/false,
          /*padded_vocab=*/true};
}

}  // namespace

const std::vector<Preset>& Presets() {
  static const std::vector<Preset>* const table = new std::vector<Preset>{
      {"nano", 4, 128, 4, kNanoLr, false, false, false},
      {"micro", 6, 384, 6, kMicroLr, false, false, false},
      Gpt2("gpt2-124m", 12, 768, 12, 6e-4),
      Gpt2("gpt2-774m", 36, 1280, 20, 2.5e-4),
      Gpt2("gpt2-1558m", 48, 1600, 25, 2e-4),
      Neox("neox-125m", 12, 768, 12, 6e-4),
      Neox("neox-350m", 24, 1024, 16, 3e-4),
      Neox("neox-760m", 24, 1536, 16, 2.5e-4),
      Neox("neox-1.3b", 24, 2048, 16, 2e-4),
  };
  return *table;
}

const Preset& FindPreset(std::string_view name) {
  for (const Preset& preset : Presets()) {
    if (preset.name == name) return preset;
  }
  CHECK(false) << "no preset is called " << name;
  return Presets().front();
}

}  // namespace normlab
