// The reading half of SqliteRunStore.
#include <SQLiteCpp/SQLiteCpp.h>

#include "core/strings.h"
#include "server/store/bind.h"
#include "server/store/row_reader.h"
#include "server/store/sqlite_run_store.h"

namespace normlab::server {
namespace {

constexpr char kSweeps[] = R"(
  SELECT id, priority, max_failures, cancelled_at IS NOT NULL FROM sweep ORDER BY id)";
constexpr char kMembers[] = R"(
  SELECT sweep, run FROM member WHERE dropped_at IS NULL ORDER BY sweep, cell, seed)";
constexpr char kRuns[] = R"(
  SELECT id, state, reason, failure, outcome, stopped_by, failures, preemptions, idle_losses,
         used_s, waiting_until, avoid_worker, attempts, head, gpus, cpus, memory_bytes,
         budget_failures, budget_preemptions, budget_time_s, budget_stall_s
  FROM run ORDER BY id)";
constexpr char kAttempts[] = R"(
  SELECT a.run, a.number, a.token, a.worker, a.incarnation, a.store_id, a.state, a.reason, a.parent,
         a.start_step, a.count_after, a.count_to, l.last_step, l.resumed_from_step,
         l.exit_seq IS NOT NULL, coalesce(l.exit_code, 0), coalesce(l.signal, 0),
         coalesce(l.exit_reason, ''), coalesce(l.stopped_by, ''), coalesce(l.wall_s, 0), l.outcome
  FROM attempt a JOIN attempt_log l ON l.run = a.run AND l.attempt = a.number
  ORDER BY a.run, a.number)";
constexpr char kCheckpoints[] = R"(
  SELECT c.run, c.attempt, c.step, c.dir FROM checkpoint c JOIN run r ON r.id = c.run
  WHERE r.state IN ('queued', 'waiting', 'running') ORDER BY c.run, c.attempt, c.step)";
constexpr char kWorkers[] = R"(
  SELECT id, incarnation, state, host, local, draining, slots, cpus, memory_bytes, gpus, store_id,
         protocol, build, trainer_build, trainer_math, torch, isa, trainer_error,
         failures_in_a_row, quarantined_until
  FROM worker ORDER BY id)";
constexpr char kSubmission[] = "SELECT id, answer FROM sweep WHERE client_key = ?1";
constexpr char kSameIdentity[] = R"(
  SELECT id, state, observations, stop FROM run WHERE identity = ?1 ORDER BY id DESC)";
constexpr char kLaunch[] = "SELECT config, stop, data_name, data_sha256 FROM run WHERE id = ?1";
constexpr char kSecondsPerStep[] = R"(
  SELECT sum(l.wall_s) / sum(r.steps) FROM run r JOIN attempt_log l
  ON l.run = r.id AND l.attempt = r.head
  JOIN attempt a ON a.run = r.id AND a.number = r.head
  WHERE r.cost_class = ?1 AND r.state = 'done' AND r.stopped_by = '' AND a.parent = 0)";
constexpr char kNames[] = "SELECT id, name FROM sweep ORDER BY id";
constexpr char kMemberRuns[] = R"(
  SELECT run FROM member WHERE sweep = ?1 AND (?2 = 0 OR cell = ?2) AND (?3 IS NULL OR seed = ?3)
  ORDER BY cell, seed)";

std::optional<absl::Time> MaybeTime(const std::optional<std::string>& text) {
  absl::Time time;
  std::string error;
  if (!text.has_value() || !absl::ParseTime(absl::RFC3339_full, *text, &time, &error)) {
    return std::nullopt;
  }
  return time;
}

RunStateRow ReadState(RowReader& row) {
  RunStateRow state;
  state.id = row.As<RunId>();
  state.state = row.Text();
  state.reason = row.Text();
  state.failure = row.Text();
  state.outcome = row.MaybeText();
  state.stopped_by = row.Text();
  state.failures = row.Int();
  state.preemptions = row.Int();
  state.idle_losses = row.Int();
  state.used_s = row.Real();
  state.waiting_until = MaybeTime(row.MaybeText());
  state.avoid_worker = row.Text();
  state.attempts = row.Int();
  state.head = row.Int();
  return state;
}

AttemptRow ReadAttempt(RowReader& row) {
  AttemptRow attempt;
  attempt.run = row.As<RunId>();
  attempt.number = row.As<AttemptNumber>();
  attempt.token = row.As<LeaseToken>();
  attempt.worker = row.Text();
  attempt.incarnation = row.Text();
  attempt.store_id = row.Text();
  attempt.state = row.Text();
  attempt.reason = row.Text();
  attempt.parent = row.Int();
  attempt.start_step = row.Int();
  attempt.count_after = row.Int();
  attempt.count_to = row.Int();
  return attempt;
}

WorkerRow ReadWorker(RowReader& row) {
  WorkerRow worker;
  worker.id = row.Text();
  worker.incarnation = row.Text();
  worker.state = row.Text();
  worker.host = row.Text();
  worker.local = row.Bool();
  worker.draining = row.Bool();
  worker.slots = row.Int();
  worker.cpus = row.Int();
  worker.memory_bytes = row.Int();
  worker.gpus = row.Text();
  worker.store_id = row.Text();
  worker.protocol = row.Int();
  worker.build = row.Text();
  worker.trainer_build = row.Text();
  worker.trainer_math = row.Int();
  worker.torch = row.Text();
  worker.isa = row.Text();
  worker.trainer_error = row.Text();
  worker.failures_in_a_row = row.Int();
  worker.quarantined_until = MaybeTime(row.MaybeText());
  return worker;
}

}  // namespace

absl::StatusOr<SavedState> SqliteRunStore::Load() {
  SavedState state;
  const absl::Status status = connection_.Read("cannot load the state of scheduling", [&] {
    LoadSweeps(state);
    LoadRuns(state);
    LoadAttempts(state);
    LoadCheckpoints(state);
    LoadWorkers(state);
  });
  if (!status.ok()) return status;
  return state;
}

void SqliteRunStore::LoadSweeps(SavedState& state) {
  ForEachRow(connection_.Prepared(kSweeps), [&](RowReader& row) {
    SavedSweep sweep;
    sweep.id = row.As<SweepId>();
    sweep.priority = row.Int();
    sweep.max_failures = row.Int();
    sweep.cancelled = row.Bool();
    state.sweeps.push_back(sweep);
  });
  ForEachRow(connection_.Prepared(kMembers), [&](RowReader& row) {
    const auto sweep = row.As<SweepId>();
    state.members.push_back({sweep, row.As<RunId>()});
  });
}

void SqliteRunStore::LoadRuns(SavedState& state) {
  ForEachRow(connection_.Prepared(kRuns), [&](RowReader& row) {
    SavedRun run;
    run.state = ReadState(row);
    run.needs.gpus = row.Int();
    run.needs.cpus = row.Int();
    run.needs.memory_bytes = row.Int();
    run.needs.budget_failures = row.Int();
    run.needs.budget_preemptions = row.Int();
    run.needs.budget_time_s = row.Real();
    run.needs.budget_stall_s = row.Real();
    state.runs.push_back(std::move(run));
  });
}

void SqliteRunStore::LoadAttempts(SavedState& state) {
  ForEachRow(connection_.Prepared(kAttempts), [&](RowReader& row) {
    SavedAttempt attempt;
    attempt.row = ReadAttempt(row);
    attempt.last_step = row.Int();
    attempt.resumed_from_step = row.MaybeInt();
    attempt.exited = row.Bool();
    attempt.exit_code = static_cast<int>(row.Int());
    attempt.signal = static_cast<int>(row.Int());
    attempt.exit_reason = row.Text();
    attempt.stopped_by = row.Text();
    attempt.wall_s = row.Real();
    attempt.outcome = row.MaybeText();
    state.attempts.push_back(std::move(attempt));
  });
}

void SqliteRunStore::LoadCheckpoints(SavedState& state) {
  ForEachRow(connection_.Prepared(kCheckpoints), [&](RowReader& row) {
    SavedCheckpoint checkpoint;
    checkpoint.run = row.As<RunId>();
    checkpoint.attempt = row.As<AttemptNumber>();
    checkpoint.step = row.Int();
    checkpoint.dir = row.Text();
    state.checkpoints.push_back(std::move(checkpoint));
  });
}

void SqliteRunStore::LoadWorkers(SavedState& state) {
  ForEachRow(connection_.Prepared(kWorkers),
             [&](RowReader& row) { state.workers.push_back(ReadWorker(row)); });
}

absl::StatusOr<std::optional<RunStore::Submission>> SqliteRunStore::FindSubmission(
    const std::string& client_key) {
  std::optional<Submission> found;
  const absl::Status status = connection_.Read("cannot look up a submission", [&] {
    ForEachRow(Bind(connection_.Prepared(kSubmission), client_key), [&](RowReader& row) {
      const auto sweep = row.As<SweepId>();
      found = Submission{sweep, row.Text()};
    });
  });
  if (!status.ok()) return status;
  return found;
}

absl::StatusOr<std::vector<LinkCandidate>> SqliteRunStore::FindRuns(const std::string& identity) {
  std::vector<LinkCandidate> found;
  const absl::Status status = connection_.Read("cannot look for existing runs", [&] {
    ForEachRow(Bind(connection_.Prepared(kSameIdentity), identity), [&](RowReader& row) {
      LinkCandidate candidate;
      candidate.run = row.As<RunId>();
      candidate.state = row.Text();
      candidate.observations = row.Text();
      candidate.stop = row.Text();
      found.push_back(std::move(candidate));
    });
  });
  if (!status.ok()) return status;
  return found;
}

absl::StatusOr<LaunchFacts> SqliteRunStore::Launch(RunId run) {
  std::optional<LaunchFacts> found;
  const absl::Status status = connection_.Read(Cat("cannot read ", ToString(run)), [&] {
    ForEachRow(Bind(connection_.Prepared(kLaunch), run), [&](RowReader& row) {
      found.emplace();
      found->config = row.Text();
      found->stop = row.Text();
      found->data_name = row.Text();
      found->data_sha256 = row.Text();
    });
  });
  if (!status.ok()) return status;
  if (!found.has_value()) return NotFound("there is no run ", ToString(run));
  return *std::move(found);
}

absl::StatusOr<std::optional<double>> SqliteRunStore::SecondsPerStep(
    const std::string& cost_class) {
  std::optional<double> seconds;
  const absl::Status status = connection_.Read("cannot estimate a duration", [&] {
    ForEachRow(Bind(connection_.Prepared(kSecondsPerStep), cost_class),
               [&](RowReader& row) { seconds = row.MaybeReal(); });
  });
  if (!status.ok()) return status;
  return seconds;
}

absl::StatusOr<std::vector<std::pair<SweepId, std::string>>> SqliteRunStore::SweepNames() {
  std::vector<std::pair<SweepId, std::string>> names;
  const absl::Status status = connection_.Read("cannot list sweeps", [&] {
    ForEachRow(connection_.Prepared(kNames), [&](RowReader& row) {
      const auto sweep = row.As<SweepId>();
      names.emplace_back(sweep, row.Text());
    });
  });
  if (!status.ok()) return status;
  return names;
}

absl::StatusOr<std::vector<RunId>> SqliteRunStore::MemberRuns(SweepId sweep, CellNumber cell,
                                                              std::optional<int64_t> seed) {
  std::vector<RunId> runs;
  const absl::Status status = connection_.Read("cannot list runs", [&] {
    ForEachRow(Bind(connection_.Prepared(kMemberRuns), sweep, cell, seed),
               [&](RowReader& row) { runs.push_back(row.As<RunId>()); });
  });
  if (!status.ok()) return status;
  return runs;
}

}  // namespace normlab::server
