#ifndef NORMLAB_CLI_KNOB_SCHEMA_H_
#define NORMLAB_CLI_KNOB_SCHEMA_H_

#include <string>

#include "nlohmann/json_fwd.hpp"

namespace normlab::cli {

// The knob table (core/knob.h) as rows for a listing: key, default, range, affects, applies_to,
// unit, help. `filter` keeps keys that contain it; empty keeps all.
nlohmann::json KnobRows(const std::string& filter);

// The knob table as JSON Schema (2020-12) of a nested run config, for editors and other programs.
nlohmann::json KnobJsonSchema();

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_KNOB_SCHEMA_H_
