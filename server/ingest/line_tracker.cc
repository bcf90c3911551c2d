#include "server/ingest/line_tracker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/json.h"
#include "nlohmann/json.hpp"

namespace normlab::server {
namespace {

constexpr char kLossSpike[] = "loss_spike";
constexpr char kNonfinite[] = "nonfinite";

// Without a gradient norm there is nothing to say about it: a harmless value.
constexpr double kNoGradNorm = 1;

std::string SoftParameters(const DivergedSoftParams& params) {
  return DumpStrict({{"min_steps", params.min_steps},
                     {"tail_share", params.tail_share},
                     {"window_share", params.window_share},
                     {"min_rise", params.min_rise},
                     {"standard_errors", params.standard_errors}});
}

}  // namespace

LineTracker::LineTracker(AttemptNumber attempt, const LogState& facts)
    : attempt_(attempt), facts_(facts), spike_attempt_(attempt) {
  summary_.attempt = attempt.value();
}

void LineTracker::Replay(const LineHistory& history) {
  std::map<int64_t, ScalarsRecord> by_step;
  for (const auto& [key, points] : history.scalars) {
    for (const ScalarPoint& point : points) {
      ScalarsRecord& record = by_step[point.step];
      record.step = point.step;
      record.values.emplace_back(key, point.value);
    }
  }
  std::vector<EventRow> found_before;
  for (const auto& [step, record] : by_step) OnScalars(record, found_before);
  for (const EvalRecord& eval : history.evals) OnEval(eval);
  if (history.newest_growth.has_value()) OnProfile(*history.newest_growth);
  // A spike that is still open belongs to the attempt in whose steps it began.
  for (const EventRow& event : history.events) {
    if (event.kind == kLossSpike) spike_attempt_ = event.attempt;
  }
}

void LineTracker::OnScalars(const ScalarsRecord& scalars, std::vector<EventRow>& events) {
  summary_.step = std::max(summary_.step, scalars.step);
  summary_.tokens = summary_.step * facts_.tokens_per_step;
  Step step{scalars.step, 0, kNoGradNorm};
  bool has_loss = false;
  for (const auto& [key, value] : scalars.values) {
    if (key == "train_loss") {
      summary_.train_loss = value;
      step.train_loss = value;
      has_loss = true;
    } else if (key == "grad_norm") {
      summary_.grad_norm = value;
      step.grad_norm = value;
    } else if (key == "lr") {
      summary_.lr = value;
    } else if (key == "tokens_per_s") {
      summary_.tokens_per_s = value;
    }
  }
  if (has_loss) Detect(step, events);
}

void LineTracker::Detect(const Step& step, std::vector<EventRow>& events) {
  train_loss_.push_back(step.train_loss);
  if (hard_.OnStep(step.step, step.train_loss, step.grad_norm)) {
    summary_.first_nonfinite_step = step.step;
    EventRow event;
    event.attempt = attempt_;
    event.step = step.step;
    event.kind = kNonfinite;
    event.detector = DivergedHard::kName;
    event.version = DivergedHard::kVersion;
    event.detail = DumpStrict({{"train_loss", NumberOrMarker(step.train_loss)},
                               {"grad_norm", NumberOrMarker(step.grad_norm)}});
    events.push_back(std::move(event));
  }
  if (const auto spike = spikes_.OnStep(step.step, step.train_loss, step.grad_norm)) {
    OnSpike(*spike, events);
  }
}

void LineTracker::OnSpike(const SpikeEvent& spike, std::vector<EventRow>& events) {
  if (spike.phase == SpikeEvent::Phase::kOnset) {
    ++summary_.spikes;
    spike_attempt_ = attempt_;
  }
  EventRow event;
  event.attempt = spike_attempt_;
  event.step = spike.onset;
  event.kind = kLossSpike;
  event.baseline = spike.baseline;
  event.height = spike.height;
  event.z = spike.z;
  if (spike.phase == SpikeEvent::Phase::kEnd) event.recovered = spike.recovered;
  event.detector = SpikeDetector::kName;
  event.version = SpikeDetector::kVersion;
  event.parameters = DumpStrict(ToJson(spikes_.params()));
  event.detail = DumpStrict(ToJson(spike));
  events.push_back(std::move(event));
}

void LineTracker::OnEval(const EvalRecord& eval) {
  summary_.val_step = eval.step;
  summary_.val_loss = eval.val_loss;
  summary_.ppl_of_mean = eval.ppl_of_mean;
  summary_.mean_seq_ppl = eval.mean_seq_ppl;
  if (!std::isfinite(eval.val_loss)) return;
  if (!summary_.best_val_loss.has_value() || eval.val_loss < *summary_.best_val_loss) {
    summary_.best_val_loss = eval.val_loss;
    summary_.best_val_step = eval.step;
  }
}

void LineTracker::OnProfile(const ProfileRecord& profile) {
  if (profile.key != "hidden_ma" || profile.values.empty()) return;
  summary_.growth_first = profile.values.front();
  summary_.growth_last = profile.values.back();
}

LineTracker::Judgement LineTracker::Finish(const std::string& stopped_by,
                                           std::vector<EventRow>& events) {
  if (const auto open = spikes_.Finish()) OnSpike(*open, events);
  Judgement judgement;
  judgement.verdicts = {JudgeHard(), JudgeSoft()};
  const bool diverged =
      std::any_of(judgement.verdicts.begin(), judgement.verdicts.end(),
                  [](const VerdictRow& verdict) { return verdict.value == "yes"; });
  if (diverged) {
    judgement.outcome = Outcome::kDiverged;
  } else if (!stopped_by.empty()) {
    judgement.outcome = Outcome::kCensored;
  }
  return judgement;
}

VerdictRow LineTracker::JudgeHard() const {
  VerdictRow verdict;
  verdict.kind = DivergedHard::kName;
  verdict.value = hard_.first_step().has_value() ? "yes" : "no";
  if (hard_.first_step().has_value()) verdict.estimate = static_cast<double>(*hard_.first_step());
  verdict.method = "first non-finite loss or gradient norm";
  verdict.version = DivergedHard::kVersion;
  return verdict;
}

VerdictRow LineTracker::JudgeSoft() const {
  DivergedSoftInput input;
  input.train_loss = train_loss_;
  if (summary_.val_step == summary_.step) input.final_val_loss = summary_.val_loss;
  input.unigram_entropy = facts_.unigram_entropy;
  input.warmup_over = summary_.step > facts_.warmup;
  const auto result = DivergedSoft(input);
  VerdictRow verdict;
  verdict.kind = kDivergedSoftName;
  verdict.value = !result.has_value() ? "n/a" : result->diverged ? "yes" : "no";
  if (result.has_value()) verdict.estimate = result->tail_mean - result->limit;
  verdict.method = "mean of the last steps less its limit, nats";
  verdict.version = kDivergedSoftVersion;
  verdict.parameters = SoftParameters({});
  return verdict;
}

}  // namespace normlab::server
