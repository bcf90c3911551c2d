#include "server/ingest/log_intake.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/json.h"
#include "core/outcome.h"
#include "core/status.h"
#include "nlohmann/json.hpp"

namespace normlab::server {

absl::StatusOr<std::unique_ptr<LogIntake>> LogIntake::Open(MetricStore& store, LeaseToken token,
                                                           RunId run, AttemptNumber attempt) {
  ASSIGN_OR_RETURN(const LogState log, store.FindLog(token, run, attempt));
  std::unique_ptr<LogIntake> intake(new LogIntake(store, token, run, attempt, log));
  if (log.resumed_from_step.has_value()) {
    RETURN_IF_ERROR(intake->Rebuild(*log.resumed_from_step));
  }
  return intake;
}

LogIntake::LogIntake(MetricStore& store, LeaseToken token, RunId run, AttemptNumber attempt,
                     const LogState& log)
    : store_(store), token_(token), run_(run), attempt_(attempt), log_(log), watch_(attempt, log) {}

absl::Status LogIntake::Rebuild(int64_t resumed_from_step) {
  ASSIGN_OR_RETURN(const LineHistory history, store_.LoadLine(run_, attempt_, resumed_from_step));
  watch_.Restore(history);
  return absl::OkStatus();
}

absl::Status LogIntake::Take(uint64_t first_seq, std::vector<Record> records) {
  for (size_t i = 0; i < records.size(); ++i) {
    const uint64_t seq = first_seq + i;
    if (seq <= log_.acked_seq) continue;
    if (seq != log_.acked_seq + 1) return absl::OkStatus();
    RETURN_IF_ERROR(TakeOne(seq, std::move(records[i])));
  }
  return absl::OkStatus();
}

absl::Status LogIntake::TakeOne(uint64_t seq, Record record) {
  log_.acked_seq = seq;
  changed_ = true;
  // Nothing can follow an exit; a log that goes on is acknowledged and otherwise ignored.
  if (log_.exited) return absl::OkStatus();
  if (auto* hello = std::get_if<HelloRecord>(&record)) return OnHello(std::move(*hello));
  if (const auto* scalars = std::get_if<ScalarsRecord>(&record)) OnScalars(*scalars);
  if (auto* profile = std::get_if<ProfileRecord>(&record)) {
    watch_.OnProfile(*profile);
    update_.profiles.push_back(std::move(*profile));
  }
  if (auto* event = std::get_if<EventRecord>(&record)) OnEvent(*event);
  if (auto* eval = std::get_if<EvalRecord>(&record)) {
    watch_.OnEval(*eval);
    update_.evals.push_back(*eval);
  }
  if (auto* checkpoint = std::get_if<CheckpointRecord>(&record)) {
    Tell(CheckpointNews{checkpoint->step, checkpoint->dir});
    update_.checkpoints.push_back(std::move(*checkpoint));
  }
  if (auto* line = std::get_if<LogLineRecord>(&record)) {
    update_.lines.push_back({seq, std::move(line->text)});
  }
  if (auto* lost = std::get_if<LostRecord>(&record)) update_.lost_records += lost->count;
  if (auto* exit = std::get_if<ExitRecord>(&record)) OnExit(seq, std::move(*exit));
  return absl::OkStatus();
}

absl::Status LogIntake::OnHello(HelloRecord record) {
  // A second hello would come from a broken trainer; the first one decides the line.
  if (log_.resumed_from_step.has_value()) return absl::OkStatus();
  log_.resumed_from_step = record.resumed_from_step;
  Tell(HelloNews{record.resumed_from_step});
  RETURN_IF_ERROR(Rebuild(record.resumed_from_step));
  update_.hello = std::move(record);
  return absl::OkStatus();
}

void LogIntake::OnScalars(const ScalarsRecord& record) {
  watch_.OnScalars(record, update_.events);
  log_.last_step = std::max(log_.last_step, record.step);
  for (const auto& [key, value] : record.values) {
    update_.scalars[key].push_back({record.step, value});
  }
}

void LogIntake::OnEvent(const EventRecord& record) {
  EventRow row;
  row.attempt = attempt_;
  row.step = record.step;
  row.kind = record.kind;
  // The column holds JSON for everybody who reads it.
  const auto detail = ParseJson(record.detail_json);
  row.detail = DumpStrict(detail.ok() ? *detail : nlohmann::json{{"text", record.detail_json}});
  update_.events.push_back(std::move(row));
}

void LogIntake::OnExit(uint64_t seq, ExitRecord record) {
  log_.exited = true;
  log_.last_step = std::max(log_.last_step, record.last_step);
  // The rule is in an event that the trainer may not have got out any more.
  if (record.stopped_by.empty() &&
      record.exit_code == static_cast<int32_t>(TrainerExit::kStoppedByPolicy)) {
    record.stopped_by = "stop_policy";
  }
  ExitNews news;
  news.failure = FailureOf(record.exit_code, record.signal, record.reason);
  news.setup_failed = IsSetupFailure(record.exit_code, record.reason);
  news.stopped_by = record.stopped_by;
  news.wall_s = record.wall_s;
  news.last_step = log_.last_step;
  if (news.failure == FailureKind::kNone) {
    news.outcome = watch_.Finish(log_.last_step, update_.events, update_.verdicts);
    update_.outcome = std::string(ToString(*news.outcome));
  }
  update_.exit_seq = seq;
  update_.exit = std::move(record);
  Tell(std::move(news));
}

void LogIntake::Tell(decltype(AttemptNews::what) what) {
  news_.push_back({run_, attempt_, token_, std::move(what)});
}

std::optional<LogUpdate> LogIntake::Harvest() {
  if (!changed_) return std::nullopt;
  changed_ = false;
  // Progress comes before the exit that ends it: the scheduler ignores an attempt that has ended.
  if (!update_.scalars.empty()) {
    AttemptNews progress{run_, attempt_, token_, ProgressNews{log_.last_step}};
    const bool ended = !news_.empty() && std::holds_alternative<ExitNews>(news_.back().what);
    news_.insert(ended ? news_.end() - 1 : news_.end(), std::move(progress));
  }
  LogUpdate update = std::exchange(update_, LogUpdate());
  update.run = run_;
  update.attempt = attempt_;
  update.acked_seq = log_.acked_seq;
  update.last_step = log_.last_step;
  update.summary = watch_.summary();
  return update;
}

std::vector<AttemptNews> LogIntake::TakeNews() { return std::exchange(news_, {}); }

}  // namespace normlab::server
