#ifndef NORMLAB_SERVER_DISPATCH_LINKING_H_
#define NORMLAB_SERVER_DISPATCH_LINKING_H_

#include "core/ids.h"
#include "nlohmann/json_fwd.hpp"
#include "server/store/run_store.h"

namespace normlab::server {

// Whether a run that records `recorded` (RunConfig::Observations) has all that `asked` wants: every
// knob equal, but for cadences ("eval.every"), where recording more often covers asking for a
// multiple of it, and for what can be switched off (probes), where anything covers off. A knob that
// `recorded` does not know, since the run is older, was off.
bool Covers(const nlohmann::json& recorded, const nlohmann::json& asked);

// The run that a new member may be linked to: not failed or cancelled, its observations cover what
// is asked, its stop policy is the same; a finished one before the others. None: RunId().
RunId FindLinkable(const std::vector<LinkCandidate>& candidates, const nlohmann::json& observations,
                   const nlohmann::json& stop);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_DISPATCH_LINKING_H_
