#ifndef NORMLAB_SERVER_QUERY_KNOBS_DOCUMENT_H_
#define NORMLAB_SERVER_QUERY_KNOBS_DOCUMENT_H_

#include "nlohmann/json_fwd.hpp"

namespace normlab::server {

// normlab.knobs.v1: the knob table (core/knob.h), for column heads and help.
nlohmann::json KnobsDocument();

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_KNOBS_DOCUMENT_H_
