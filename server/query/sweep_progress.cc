#include "server/query/sweep_progress.h"

#include <algorithm>

namespace normlab::server {

void SweepProgress::Add(const MemberProgress& member) {
  ++members_;
  // What a cancelled sweep let go counts as cancelled there, also when it goes on for another.
  const bool let_go = member.dropped && !IsFinal(member.state);
  const RunState state = let_go ? RunState::kCancelled : member.state;
  ++states_[state];
  if (state == RunState::kDone && member.outcome) ++outcomes_[*member.outcome];
  const double steps = static_cast<double>(std::max<int64_t>(member.steps, 1));
  const double step = static_cast<double>(std::min(member.step, member.steps));
  done_ += IsFinal(state) ? 1 : step / steps;
  if (!IsFinal(state)) steps_left_ += steps - step;
  if (member.active_s > 0 && member.step > 0) {
    paced_steps_ += step;
    paced_s_ += member.active_s;
  }
}

int64_t SweepProgress::Count(RunState state) const {
  const auto found = states_.find(state);
  return found == states_.end() ? 0 : found->second;
}

int64_t SweepProgress::Count(Outcome outcome) const {
  const auto found = outcomes_.find(outcome);
  return found == outcomes_.end() ? 0 : found->second;
}

std::string SweepProgress::State(bool cancelled) const {
  if (cancelled) return "cancelled";
  const int64_t ended =
      Count(RunState::kDone) + Count(RunState::kFailed) + Count(RunState::kCancelled);
  if (ended < members_) return Count(RunState::kRunning) + ended > 0 ? "running" : "queued";
  if (Count(RunState::kFailed) > 0) return "failed";
  return Count(RunState::kDone) > 0 || members_ == 0 ? "done" : "cancelled";
}

double SweepProgress::Done() const {
  return members_ == 0 ? 0 : done_ / static_cast<double>(members_);
}

std::optional<double> SweepProgress::SecondsLeft() const {
  if (steps_left_ <= 0 || paced_steps_ <= 0) return std::nullopt;
  const double at_a_time = static_cast<double>(std::max<int64_t>(Count(RunState::kRunning), 1));
  return steps_left_ * (paced_s_ / paced_steps_) / at_a_time;
}

}  // namespace normlab::server
