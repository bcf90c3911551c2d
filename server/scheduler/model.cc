#include "server/scheduler/model.h"

namespace normlab::server {

std::string_view ToString(AttemptState state) {
  switch (state) {
    case AttemptState::kRunning:
      return "running";
    case AttemptState::kEnded:
      return "ended";
    case AttemptState::kVoid:
      return "void";
  }
  return "";
}

std::optional<AttemptState> ParseAttemptState(std::string_view text) {
  for (const auto state : {AttemptState::kRunning, AttemptState::kEnded, AttemptState::kVoid}) {
    if (ToString(state) == text) return state;
  }
  return std::nullopt;
}

}  // namespace normlab::server
