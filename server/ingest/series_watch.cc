#include "server/ingest/series_watch.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/json.h"
#include "nlohmann/json.hpp"

namespace normlab::server {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::optional<double> Find(const ScalarsRecord& record, std::string_view key) {
  for (const auto& [name, value] : record.values) {
    if (name == key) return value;
  }
  return std::nullopt;
}

}  // namespace

SeriesWatch::SeriesWatch(AttemptNumber attempt, const LogState& log)
    : attempt_(attempt),
      steps_(log.steps),
      warmup_(log.warmup),
      tokens_per_step_(log.tokens_per_step),
      unigram_entropy_(log.unigram_entropy) {
  summary_.attempt = static_cast<int>(attempt.value());
}

void SeriesWatch::Restore(const LineHistory& history) {
  for (const EventRow& event : history.events) attempt_of_onset_[event.step] = event.attempt;
  // Keys are stored apart; a step is put together again from all of them.
  std::map<int64_t, ScalarsRecord> steps;
  for (const auto& [key, points] : history.scalars) {
    for (const ScalarPoint& point : points) {
      ScalarsRecord& record = steps[point.step];
      record.step = point.step;
      record.values.emplace_back(key, point.value);
    }
  }
  std::vector<EventRow> stored_already;
  for (const auto& [step, record] : steps) OnScalars(record, stored_already);
  for (const EvalRecord& eval : history.evals) OnEval(eval);
  if (history.newest_growth.has_value()) OnProfile(*history.newest_growth);
}

void SeriesWatch::OnScalars(const ScalarsRecord& record, std::vector<EventRow>& events) {
  const std::optional<double> loss = Find(record, "train_loss");
  const std::optional<double> grad = Find(record, "grad_norm");
  summary_.step = record.step;
  summary_.tokens = record.step * tokens_per_step_;
  if (loss.has_value()) summary_.train_loss = loss;
  if (grad.has_value()) summary_.grad_norm = grad;
  if (const auto lr = Find(record, "lr")) summary_.lr = lr;
  if (const auto rate = Find(record, "tokens_per_s")) summary_.tokens_per_s = rate;
  // A step without a loss is no optimiser step (step 0 has only probes).
  if (loss.has_value()) OnStep(record.step, {*loss, grad.value_or(0)}, events);
}

void SeriesWatch::OnStep(int64_t step, const Step& values, std::vector<EventRow>& events) {
  train_loss_.push_back(values.train_loss);
  if (hard_.OnStep(step, values.train_loss, values.grad_norm)) {
    summary_.first_nonfinite_step = step;
    events.push_back(NonfiniteRow(step, values));
  }
  if (const auto spike = spikes_.OnStep(step, values.train_loss, values.grad_norm)) {
    if (spike->phase == SpikeEvent::Phase::kOnset) ++summary_.spikes;
    events.push_back(SpikeRow(*spike));
  }
}

void SeriesWatch::OnEval(const EvalRecord& record) {
  summary_.val_step = record.step;
  summary_.val_loss = record.val_loss;
  summary_.ppl_of_mean = record.ppl_of_mean;
  summary_.mean_seq_ppl = record.mean_seq_ppl;
  if (!std::isfinite(record.val_loss)) return;
  if (!summary_.best_val_loss.has_value() || record.val_loss < *summary_.best_val_loss) {
    summary_.best_val_loss = record.val_loss;
    summary_.best_val_step = record.step;
  }
}

void SeriesWatch::OnProfile(const ProfileRecord& record) {
  if (record.key != "hidden_ma" || record.values.empty()) return;
  summary_.growth_first = record.values.front();
  summary_.growth_last = record.values.back();
}

EventRow SeriesWatch::SpikeRow(const SpikeEvent& event) {
  EventRow row;
  // A spike belongs to the attempt in whose steps it began, also when a later one sees its end.
  const auto known = attempt_of_onset_.find(event.onset);
  row.attempt = known != attempt_of_onset_.end() ? known->second : attempt_;
  row.step = event.onset;
  row.kind = std::string(SpikeDetector::kName);
  row.baseline = event.baseline;
  row.height = event.height;
  row.z = event.z;
  if (event.phase == SpikeEvent::Phase::kEnd) row.recovered = event.recovered;
  row.detector = std::string(SpikeDetector::kName);
  row.version = SpikeDetector::kVersion;
  row.parameters = DumpStrict(ToJson(spikes_.params()));
  row.detail = DumpStrict(ToJson(event));
  return row;
}

EventRow SeriesWatch::NonfiniteRow(int64_t step, const Step& values) const {
  EventRow row;
  row.attempt = attempt_;
  row.step = step;
  row.kind = "nonfinite";
  row.detector = std::string(DivergedHard::kName);
  row.version = DivergedHard::kVersion;
  row.detail = DumpStrict({{"train_loss", NumberOrMarker(values.train_loss)},
                           {"grad_norm", NumberOrMarker(values.grad_norm)}});
  return row;
}

Outcome SeriesWatch::Finish(int64_t last_step, std::vector<EventRow>& events,
                            std::vector<VerdictRow>& verdicts) {
  if (const auto spike = spikes_.Finish()) events.push_back(SpikeRow(*spike));
  DivergedSoftInput input;
  input.train_loss = train_loss_;
  input.final_val_loss = summary_.val_loss;
  input.unigram_entropy = unigram_entropy_;
  input.warmup_over = last_step > warmup_;
  const std::optional<DivergedSoftResult> soft = DivergedSoft(input);
  verdicts.push_back(HardVerdict());
  verdicts.push_back(SoftVerdict(soft));
  if (hard_.first_step().has_value()) return Outcome::kDiverged;
  if (soft.has_value() && soft->diverged) return Outcome::kDiverged;
  // A loss that became NaN between two logged steps shows in the evaluation alone.
  if (!std::isfinite(summary_.val_loss.value_or(0))) return Outcome::kDiverged;
  return last_step >= steps_ ? Outcome::kHealthy : Outcome::kCensored;
}

VerdictRow SeriesWatch::HardVerdict() const {
  VerdictRow row;
  row.kind = std::string(DivergedHard::kName);
  row.method = "any non-finite loss or gradient norm";
  row.version = DivergedHard::kVersion;
  row.value = train_loss_.empty() ? "n/a" : hard_.first_step().has_value() ? "yes" : "no";
  if (hard_.first_step().has_value()) row.estimate = static_cast<double>(*hard_.first_step());
  return row;
}

VerdictRow SeriesWatch::SoftVerdict(const std::optional<DivergedSoftResult>& result) const {
  const DivergedSoftParams params;
  VerdictRow row;
  row.kind = std::string(kDivergedSoftName);
  row.method = "mean loss of the tail against the lowest window, or above the unigram entropy";
  row.version = kDivergedSoftVersion;
  row.value = !result.has_value() ? "n/a" : result->diverged ? "yes" : "no";
  row.parameters =
      DumpStrict({{"min_steps", params.min_steps},
                  {"tail_share", params.tail_share},
                  {"window_share", params.window_share},
                  {"min_rise", params.min_rise},
                  {"standard_errors", params.standard_errors},
                  {"limit", NumberOrMarker(result.has_value() ? result->limit : kNan)},
                  {"step_noise", NumberOrMarker(result.has_value() ? result->step_noise : kNan)}});
  if (result.has_value()) row.estimate = result->tail_mean;
  return row;
}

}  // namespace normlab::server
