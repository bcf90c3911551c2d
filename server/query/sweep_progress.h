#ifndef NORMLAB_SERVER_QUERY_SWEEP_PROGRESS_H_
#define NORMLAB_SERVER_QUERY_SWEEP_PROGRESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/outcome.h"

namespace normlab::server {

// How far one member of a sweep is. Facts only.
struct MemberProgress {
  RunState state = RunState::kQueued;
  std::optional<Outcome> outcome;
  bool dropped = false;  // the sweep was cancelled and no longer asks for it
  int64_t step = 0;
  int64_t steps = 0;
  double active_s = 0;  // since its first start, until now or its end; 0: not started
};

// A sweep's progress, summed over its members one by one.
class SweepProgress {
 public:
  void Add(const MemberProgress& member);

  int64_t Count(RunState state) const;
  int64_t Count(Outcome outcome) const;
  int64_t members() const { return members_; }

  // "queued running done failed cancelled". `cancelled`: somebody ended the sweep.
  std::string State(bool cancelled) const;

  // Steps done, as a share of all; a run that ended early counts as whole. 0 without members.
  double Done() const;

  // Seconds until the end, from the pace of the members so far, at the number that runs now (at
  // least one). Empty when everything has ended or when there is no pace yet.
  std::optional<double> SecondsLeft() const;

 private:
  int64_t members_ = 0;
  std::map<RunState, int64_t> states_;
  std::map<Outcome, int64_t> outcomes_;
  double done_ = 0;  // sum of shares
  double steps_left_ = 0;
  double paced_steps_ = 0;
  double paced_s_ = 0;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_QUERY_SWEEP_PROGRESS_H_
