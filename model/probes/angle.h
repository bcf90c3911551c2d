// The angle between the stream before and after each sublayer, by token, for every placement: it
// shows the decay that Pre-Norm has without being told (GeoNorm paper, section 4).
//   angle, angle_p95, angle_max   radians, over all tokens of the batch; entry s − 1 is sublayer s
#ifndef NORMLAB_MODEL_PROBES_ANGLE_H_
#define NORMLAB_MODEL_PROBES_ANGLE_H_

#include <vector>

#include "core/record.h"
#include "model/transformer.h"

namespace normlab::model {

// Angle between rows of x and y [..., d], [rows] in fp64; well conditioned near 0 and π. A zero row
// makes no angle: 0.
at::Tensor RowAngles(const at::Tensor& x, const at::Tensor& y);

std::vector<ProfileRecord> AngleProfiles(const Tape& tape, int64_t step);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_PROBES_ANGLE_H_
