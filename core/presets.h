#ifndef NORMLAB_CORE_PRESETS_H_
#define NORMLAB_CORE_PRESETS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace normlab {

// A model size with a name. It gives defaults only: a knob that is set wins.
struct Preset {
  std::string_view name;
  int64_t layers;
  int64_t width;
  int64_t heads;  // the FFN is 4 · width everywhere
  double lr;      // peak learning rate of its recipe (for nano and micro: ours)
  bool rotary;    // rotary positions, untied head, biases (GPT-NeoX); else learned, tied, none
  bool gelu_tanh;
  bool padded_vocab;  // the data set's vocabulary is padded to a multiple of 128
};

const std::vector<Preset>& Presets();

// CHECK-fails for an unknown name.
const Preset& FindPreset(std::string_view name);

}  // namespace normlab

#endif  // NORMLAB_CORE_PRESETS_H_
