#ifndef NORMLAB_SERVER_INGEST_LINE_TRACKER_H_
#define NORMLAB_SERVER_INGEST_LINE_TRACKER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/detect/divergence.h"
#include "core/detect/spike_detector.h"
#include "core/ids.h"
#include "core/outcome.h"
#include "core/record.h"
#include "server/store/metric_store.h"

namespace normlab::server {

// What is known about a run along one attempt's line of parents: the detectors and the summary. It
// is a function of the line's records alone, so that one that is rebuilt from the store goes on
// exactly like one that never stopped. A plain value; no I/O.
class LineTracker {
 public:
  explicit LineTracker(AttemptNumber attempt, const LogState& facts);

  // Takes in what the line had before; finds nothing new.
  void Replay(const LineHistory& history);

  // One record of the attempt; events that detectors find are added to `events`.
  void OnScalars(const ScalarsRecord& scalars, std::vector<EventRow>& events);
  void OnEval(const EvalRecord& eval);
  void OnProfile(const ProfileRecord& profile);

  // The run came to its end here: closes an open spike and judges. `stopped_by`: the rule, or "".
  struct Judgement {
    Outcome outcome = Outcome::kHealthy;
    std::vector<VerdictRow> verdicts;
  };
  Judgement Finish(const std::string& stopped_by, std::vector<EventRow>& events);

  const RunSummary& summary() const { return summary_; }

 private:
  struct Step {
    int64_t step = 0;
    double train_loss = 0;
    double grad_norm = 0;
  };
  void Detect(const Step& step, std::vector<EventRow>& events);
  void OnSpike(const SpikeEvent& spike, std::vector<EventRow>& events);
  VerdictRow JudgeHard() const;
  VerdictRow JudgeSoft() const;

  AttemptNumber attempt_;
  LogState facts_;
  RunSummary summary_;
  SpikeDetector spikes_;
  DivergedHard hard_;
  AttemptNumber spike_attempt_;  // in whose steps the open spike began
  std::vector<double> train_loss_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_INGEST_LINE_TRACKER_H_
