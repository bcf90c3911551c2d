#ifndef NORMLAB_CORE_OUTCOME_H_
#define NORMLAB_CORE_OUTCOME_H_

#include <optional>
#include <string_view>

namespace normlab {

enum class RunState { kQueued, kWaiting, kRunning, kDone, kFailed, kCancelled };

// What a done run showed. Diverged is a result, never a failure; it wins over censored.
enum class Outcome { kHealthy, kDiverged, kCensored };

// Why an attempt or run gave no result.
enum class FailureKind {
  kNone,
  kConfigError,
  kCodeError,
  kOutOfMemory,
  kTimeout,
  kLostWorker,
  kPreempted,
  kCancelled,
  kDeviceLost
};

// Lower-case words with underscores, as stored and shown: "queued", "healthy", "out_of_memory";
// kNone is "".
std::string_view ToString(RunState state);
std::string_view ToString(Outcome outcome);
std::string_view ToString(FailureKind kind);

// Inverses of ToString; empty for any other text.
std::optional<RunState> ParseRunState(std::string_view text);
std::optional<Outcome> ParseOutcome(std::string_view text);
std::optional<FailureKind> ParseFailureKind(std::string_view text);

// True for done, failed and cancelled.
bool IsFinal(RunState state);

// Exit codes of normlab-trainer.
enum class TrainerExit : int {
  kDone = 0,
  kStoppedByPolicy = 3,  // a finished run: which rule ended it is an event in the log
  kBadConfig = 10,       // config or data
  kOutOfMemory = 11,
  kPreempted = 12,  // after a checkpoint was written
  kDeviceLost = 13
};

// What an exit means: kNone for 0 and 3; SIGKILL without our asking is taken for the kernel's
// out-of-memory killer; any other signal or code is kCodeError. signal = 0: exited by itself.
FailureKind FailureOfExit(int exit_code, int signal);

}  // namespace normlab

#endif  // NORMLAB_CORE_OUTCOME_H_
