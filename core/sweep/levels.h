#ifndef NORMLAB_CORE_SWEEP_LEVELS_H_
#define NORMLAB_CORE_SWEEP_LEVELS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "core/knob.h"
#include "core/sweep/error_sink.h"
#include "core/sweep/source_node.h"

namespace normlab {

// A scalar as a value of the knob; an error, and nothing, when it is none.
std::optional<KnobValue> ReadValue(const Knob& knob, const SourceNode& node, ErrorSink& sink);

// The levels of a factor: a list, one value, {log: [lo, hi], n: N}, {linear: [lo, hi], n: N} or
// {range: [lo, hi, step]}. Every fault is an error; what is right comes back. Levels that repeat
// an earlier one are errors too.
std::vector<KnobValue> ReadLevels(const Knob& knob, const SourceNode& node, ErrorSink& sink);

}  // namespace normlab

#endif  // NORMLAB_CORE_SWEEP_LEVELS_H_
