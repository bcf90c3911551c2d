#include "server/ingest/log_intake.h"

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/outcome.h"
#include "core/status.h"
#include "nlohmann/json.hpp"

namespace normlab::server {

absl::StatusOr<LogIntake> LogIntake::Open(MetricStore& store, const AppendRequest& request) {
  ASSIGN_OR_RETURN(const LogState facts,
                   store.FindLog(request.token, request.run, request.attempt));
  return LogIntake(store, request, facts);
}

LogIntake::LogIntake(MetricStore& store, const AppendRequest& request, const LogState& facts)
    : store_(&store),
      run_(request.run),
      attempt_(request.attempt),
      token_(request.token),
      facts_(facts) {}

absl::Status LogIntake::Take(uint64_t first_seq, const std::vector<Record>& records) {
  if (first_seq > facts_.acked_seq + 1) return absl::OkStatus();
  const uint64_t known = facts_.acked_seq + 1 - first_seq;
  for (uint64_t i = known; i < records.size(); ++i) {
    RETURN_IF_ERROR(TakeOne(records[i]));
    ++facts_.acked_seq;
  }
  return absl::OkStatus();
}

absl::Status LogIntake::TakeOne(const Record& record) {
  const auto* hello = std::get_if<HelloRecord>(&record);
  RETURN_IF_ERROR(EnsureTracker(hello != nullptr ? hello->resumed_from_step
                                                 : facts_.resumed_from_step.value_or(-1)));
  return std::visit([this](const auto& each) { return On(each); }, record);
}

absl::Status LogIntake::EnsureTracker(int64_t resumed_from_step) {
  if (tracker_.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const LineHistory history, store_->LoadLine(run_, attempt_, resumed_from_step));
  tracker_.emplace(attempt_, facts_);
  tracker_->Replay(history);
  return absl::OkStatus();
}

absl::Status LogIntake::On(const HelloRecord& hello) {
  facts_.resumed_from_step = hello.resumed_from_step;
  facts_.last_step = std::max(facts_.last_step, hello.resumed_from_step);
  update_.hello = hello;
  return absl::OkStatus();
}

absl::Status LogIntake::On(const ScalarsRecord& scalars) {
  facts_.last_step = std::max(facts_.last_step, scalars.step);
  for (const auto& [key, value] : scalars.values) {
    update_.scalars[key].push_back({scalars.step, value});
  }
  tracker_->OnScalars(scalars, update_.events);
  return absl::OkStatus();
}

absl::Status LogIntake::On(const ProfileRecord& profile) {
  update_.profiles.push_back(profile);
  tracker_->OnProfile(profile);
  return absl::OkStatus();
}

absl::Status LogIntake::On(const EventRecord& event) {
  EventRow row;
  row.attempt = attempt_;
  row.step = event.step;
  row.kind = event.kind;
  const auto detail = ParseJson(event.detail_json);
  row.detail = DumpStrict(detail.ok() ? *detail : nlohmann::json{{"text", event.detail_json}});
  update_.events.push_back(std::move(row));
  return absl::OkStatus();
}

absl::Status LogIntake::On(const EvalRecord& eval) {
  update_.evals.push_back(eval);
  tracker_->OnEval(eval);
  return absl::OkStatus();
}

absl::Status LogIntake::On(const CheckpointRecord& checkpoint) {
  update_.checkpoints.push_back(checkpoint);
  return absl::OkStatus();
}

absl::Status LogIntake::On(const LogLineRecord& line) {
  update_.lines.push_back({facts_.acked_seq + 1, line.text});
  return absl::OkStatus();
}

absl::Status LogIntake::On(const LostRecord& lost) {
  update_.lost_records += lost.count;
  return absl::OkStatus();
}

absl::Status LogIntake::On(const ExitRecord& exit) {
  if (facts_.exited) return absl::OkStatus();  // a log has one end; what follows it says nothing
  facts_.exited = true;
  facts_.last_step = std::max(facts_.last_step, exit.last_step);
  update_.exit_seq = facts_.acked_seq + 1;
  update_.exit = exit;
  std::string& stopped_by = update_.exit->stopped_by;
  if (stopped_by.empty() && exit.exit_code == static_cast<int>(TrainerExit::kStoppedByPolicy)) {
    stopped_by = "stop_policy";
  }
  if (FailureOf(exit.exit_code, exit.signal, exit.reason) != FailureKind::kNone) {
    return absl::OkStatus();
  }
  LineTracker::Judgement judgement = tracker_->Finish(stopped_by, update_.events);
  update_.outcome = std::string(ToString(judgement.outcome));
  update_.verdicts = std::move(judgement.verdicts);
  return absl::OkStatus();
}

LogIntake::Taken LogIntake::Flush() {
  Taken taken;
  taken.anything = update_.acked_seq != facts_.acked_seq && tracker_.has_value();
  if (!taken.anything) return taken;
  AddNews(taken.news);
  update_.run = run_;
  update_.attempt = attempt_;
  update_.acked_seq = facts_.acked_seq;
  update_.last_step = facts_.last_step;
  update_.summary = tracker_->summary();
  taken.update = std::exchange(update_, LogUpdate());
  update_.acked_seq = facts_.acked_seq;
  return taken;
}

void LogIntake::AddNews(std::vector<AttemptNews>& news) const {
  const auto add = [&](auto what) { news.push_back({run_, attempt_, token_, std::move(what)}); };
  if (update_.hello.has_value()) add(HelloNews{update_.hello->resumed_from_step});
  for (const CheckpointRecord& checkpoint : update_.checkpoints) {
    add(CheckpointNews{checkpoint.step, checkpoint.dir});
  }
  add(ProgressNews{facts_.last_step});
  if (!update_.exit.has_value()) return;
  const ExitRecord& record = *update_.exit;
  ExitNews exit;
  exit.failure = FailureOf(record.exit_code, record.signal, record.reason);
  exit.setup_failed = IsSetupFailure(record.exit_code, record.reason);
  exit.stopped_by = record.stopped_by;
  exit.wall_s = record.wall_s;
  exit.last_step = facts_.last_step;
  if (update_.outcome.has_value()) exit.outcome = ParseOutcome(*update_.outcome);
  add(std::move(exit));
}

}  // namespace normlab::server
