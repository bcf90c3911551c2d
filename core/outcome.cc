#include "core/outcome.h"

#include <array>
#include <csignal>
#include <utility>

#include "core/check.h"

namespace normlab {

namespace {

template <typename Enum, size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<RunState, 6> kStates = {{{RunState::kQueued, "queued"},
                                         {RunState::kWaiting, "waiting"},
                                         {RunState::kRunning, "running"},
                                         {RunState::kDone, "done"},
                                         {RunState::kFailed, "failed"},
                                         {RunState::kCancelled, "cancelled"}}};
constexpr Names<Outcome, 3> kOutcomes = {{{Outcome::kHealthy, "healthy"},
                                          {Outcome::kDiverged, "diverged"},
                                          {Outcome::kCensored, "censored"}}};
constexpr Names<FailureKind, 9> kFailures = {{{FailureKind::kNone, ""},
                                              {FailureKind::kConfigError, "config_error"},
                                              {FailureKind::kCodeError, "code_error"},
                                              {FailureKind::kOutOfMemory, "out_of_memory"},
                                              {FailureKind::kTimeout, "timeout"},
                                              {FailureKind::kLostWorker, "lost_worker"},
                                              {FailureKind::kPreempted, "preempted"},
                                              {FailureKind::kCancelled, "cancelled"},
                                              {FailureKind::kDeviceLost, "device_lost"}}};

template <typename Enum, size_t N>
std::string_view NameOf(const Names<Enum, N>& names, Enum value) {
  for (const auto& [entry, name] : names) {
    if (entry == value) return name;
  }
  CHECK(false) << "not a value of its enum: " << static_cast<int>(value);
  return "";
}

template <typename Enum, size_t N>
std::optional<Enum> ValueOf(const Names<Enum, N>& names, std::string_view text) {
  for (const auto& [entry, name] : names) {
    if (name == text) return entry;
  }
  return std::nullopt;
}

}  // namespace

std::string_view ToString(RunState state) { return NameOf(kStates, state); }
std::string_view ToString(Outcome outcome) { return NameOf(kOutcomes, outcome); }
std::string_view ToString(FailureKind kind) { return NameOf(kFailures, kind); }

std::optional<RunState> ParseRunState(std::string_view text) { return ValueOf(kStates, text); }
std::optional<Outcome> ParseOutcome(std::string_view text) { return ValueOf(kOutcomes, text); }
std::optional<FailureKind> ParseFailureKind(std::string_view text) {
  return ValueOf(kFailures, text);
}

bool IsFinal(RunState state) {
  return state == RunState::kDone || state == RunState::kFailed || state == RunState::kCancelled;
}

FailureKind FailureOfExit(int exit_code, int signal) {
  if (signal != 0) return signal == SIGKILL ? FailureKind::kOutOfMemory : FailureKind::kCodeError;
  switch (static_cast<TrainerExit>(exit_code)) {
    case TrainerExit::kDone:
    case TrainerExit::kStoppedByPolicy:
      return FailureKind::kNone;
    case TrainerExit::kBadConfig:
      return FailureKind::kConfigError;
    case TrainerExit::kOutOfMemory:
      return FailureKind::kOutOfMemory;
    case TrainerExit::kPreempted:
      return FailureKind::kPreempted;
    case TrainerExit::kDeviceLost:
      return FailureKind::kDeviceLost;
  }
  return FailureKind::kCodeError;
}

}  // namespace normlab
