#ifndef NORMLAB_SERVER_INGEST_SERIES_WATCH_H_
#define NORMLAB_SERVER_INGEST_SERIES_WATCH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/detect/divergence.h"
#include "core/detect/spike_detector.h"
#include "core/ids.h"
#include "core/outcome.h"
#include "core/record.h"
#include "server/store/metric_store.h"

namespace normlab::server {

// What a run's series amounts to, seen from one attempt: its newest numbers, and the detectors of
// core/detect fed with every step of the attempt's line of parents. The same line gives the same
// state, whether its records came one by one or were loaded after a restart. A plain value.
class SeriesWatch {
 public:
  // For attempt `attempt` of a run with `steps` steps.
  SeriesWatch(AttemptNumber attempt, const LogState& log);

  // Feeds what is stored already; gives no events, since they are stored as well.
  void Restore(const LineHistory& history);

  void OnScalars(const ScalarsRecord& record, std::vector<EventRow>& events);
  void OnEval(const EvalRecord& record);
  void OnProfile(const ProfileRecord& record);

  // At the exit of an attempt that gave a result: closes an open spike, judges, and says how the
  // run ended. Divergence wins over censoring; a run that did not do all its steps is never
  // healthy.
  Outcome Finish(int64_t last_step, std::vector<EventRow>& events,
                 std::vector<VerdictRow>& verdicts);

  const RunSummary& summary() const { return summary_; }

 private:
  struct Step {
    double train_loss;
    double grad_norm;
  };
  void OnStep(int64_t step, const Step& values, std::vector<EventRow>& events);
  EventRow SpikeRow(const SpikeEvent& event);
  EventRow NonfiniteRow(int64_t step, const Step& values) const;
  VerdictRow HardVerdict() const;
  VerdictRow SoftVerdict(const std::optional<DivergedSoftResult>& result) const;

  AttemptNumber attempt_;
  int64_t steps_;
  int64_t warmup_;
  int64_t tokens_per_step_;
  std::optional<double> unigram_entropy_;

  RunSummary summary_;
  SpikeDetector spikes_;
  DivergedHard hard_;
  std::vector<double> train_loss_;                     // of every step, in order
  std::map<int64_t, AttemptNumber> attempt_of_onset_;  // spikes that parents saw begin
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_INGEST_SERIES_WATCH_H_
