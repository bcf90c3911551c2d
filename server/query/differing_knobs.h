#ifndef NORMLAB_SERVER_QUERY_DIFFERING_KNOBS_H_
#define NORMLAB_SERVER_QUERY_DIFFERING_KNOBS_H_

#include <set>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

namespace normlab::server {

// Knobs that mean something to both configs (RunConfig::ToJson, nested), affect the result, and
// have different values, sorted; `except` are left out. What comes along with a placement and could
// be taken for its effect: its final norm, say.
std::vector<std::string> DifferingKnobs(const nlohmann::json& a, const nlohmann::json& b,
                                        const std::set<std::string>& except);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_DIFFERING_KNOBS_H_
