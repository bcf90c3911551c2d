#include "server/store/sqlite_run_store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/clock.h"
#include "core/strings.h"
#include "server/store/bind.h"

namespace normlab::server {
namespace {

constexpr char kInsertSweep[] = R"(
  INSERT INTO sweep (id, name, client_key, spec, answer, combinations, excluded, priority,
                     max_failures, submitted_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))";
constexpr char kInsertCell[] = R"(
  INSERT INTO cell (sweep, number, label, names, factors, combinations, baseline)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7))";
constexpr char kInsertDataset[] = R"(
  INSERT INTO data_set (sha256, name, vocab, train_tokens, val_tokens, tokenizer, unigram_entropy)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (sha256) DO NOTHING)";
constexpr char kCancelSweep[] = R"(
  UPDATE sweep SET cancelled_at = ?2, cancel_reason = ?3 WHERE id = ?1 AND cancelled_at IS NULL)";
constexpr char kDropMembers[] = R"(
  UPDATE member SET dropped_at = ?2 WHERE sweep = ?1 AND dropped_at IS NULL)";
constexpr char kInsertRun[] = R"(
  INSERT INTO run (id, identity, canonical, config, config_flat, factors, label, observations, stop,
                   data_name, data_sha256, seed, steps, warmup, cost_class, gpus, cpus,
                   memory_bytes, budget_failures, budget_preemptions, budget_time_s,
                   budget_stall_s, state, reason, queued_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
          ?20, ?21, ?22, 'queued', 'submitted', ?23))";
constexpr char kInsertMember[] = R"(
  INSERT INTO member (sweep, cell, seed, run, linked) VALUES (?1, ?2, ?3, ?4, ?5))";
constexpr char kAddFactors[] = R"(
  UPDATE run SET factors = json_patch(factors, ?2) WHERE id = ?1)";
constexpr char kUpsertWorker[] = R"(
  INSERT INTO worker (id, incarnation, state, host, local, draining, slots, cpus, memory_bytes,
                      gpus, store_id, protocol, build, trainer_build, trainer_math, torch, isa,
                      trainer_error, failures_in_a_row, quarantined_until, first_seen_at,
                      last_seen_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
          ?21, ?21)
  ON CONFLICT (id) DO UPDATE SET
    incarnation = excluded.incarnation, state = excluded.state, host = excluded.host,
    local = excluded.local, draining = excluded.draining, slots = excluded.slots,
    cpus = excluded.cpus, memory_bytes = excluded.memory_bytes, gpus = excluded.gpus,
    store_id = excluded.store_id, protocol = excluded.protocol, build = excluded.build,
    trainer_build = excluded.trainer_build, trainer_math = excluded.trainer_math,
    torch = excluded.torch, isa = excluded.isa, trainer_error = excluded.trainer_error,
    failures_in_a_row = excluded.failures_in_a_row,
    quarantined_until = excluded.quarantined_until,
    last_seen_at = iif(excluded.state = 'lost', last_seen_at, excluded.last_seen_at))";
constexpr char kUpsertAttempt[] = R"(
  INSERT INTO attempt (run, number, token, worker, incarnation, store_id, state, reason, parent,
                       start_step, count_after, count_to, assigned_at, ended_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
          iif(?7 = 'running', NULL, ?13))
  ON CONFLICT (run, number) DO UPDATE SET
    incarnation = excluded.incarnation, state = excluded.state, reason = excluded.reason,
    parent = excluded.parent, start_step = excluded.start_step,
    count_after = excluded.count_after, count_to = excluded.count_to,
    ended_at = coalesce(ended_at, excluded.ended_at))";
constexpr char kInsertLog[] = R"(
  INSERT INTO attempt_log (run, attempt) VALUES (?1, ?2) ON CONFLICT DO NOTHING)";
constexpr char kUpdateState[] = R"(
  UPDATE run SET state = ?2, reason = ?3, failure = ?4, outcome = ?5, stopped_by = ?6,
    failures = ?7, preemptions = ?8, idle_losses = ?9, used_s = ?10, waiting_until = ?11,
    avoid_worker = ?12, attempts = ?13, head = ?14,
    started_at = iif(?2 = 'running', coalesce(started_at, ?15), started_at),
    finished_at = iif(?2 IN ('done', 'failed', 'cancelled'), coalesce(finished_at, ?15), NULL)
  WHERE id = ?1)";
constexpr char kInsertTransition[] = R"(
  INSERT INTO transition (run, at, state, reason, attempt, worker)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6))";

std::optional<std::string> TimeText(const std::optional<absl::Time>& time) {
  if (!time.has_value()) return std::nullopt;
  return FormatUtc(*time);
}

}  // namespace

absl::Status SqliteRunStore::Commit(const RunChanges& changes) {
  const std::string now = FormatUtc(changes.now);
  return connection_.Write("cannot commit scheduling", [&] {
    WriteSweeps(changes, now);
    WriteRuns(changes, now);
    WriteMembers(changes, now);
    WriteWorkers(changes, now);
    WriteAttempts(changes, now);
    WriteStates(changes, now);
  });
}

void SqliteRunStore::WriteSweeps(const RunChanges& changes, const std::string& now) {
  for (const SweepRow& sweep : changes.sweeps) {
    Exec(connection_.Prepared(kInsertSweep), sweep.id, sweep.name, sweep.client_key, sweep.spec,
         sweep.answer, sweep.combinations, sweep.excluded, sweep.priority, sweep.max_failures, now);
  }
  for (const CellRow& cell : changes.cells) {
    Exec(connection_.Prepared(kInsertCell), cell.sweep, cell.number, cell.label, cell.names,
         cell.factors, cell.combinations, cell.baseline);
  }
  for (const DatasetRow& data : changes.datasets) {
    Exec(connection_.Prepared(kInsertDataset), data.sha256, data.name, data.vocab,
         data.train_tokens, data.val_tokens, data.tokenizer, data.unigram_entropy);
  }
}

void SqliteRunStore::WriteRuns(const RunChanges& changes, const std::string& now) {
  for (const RunRow& run : changes.runs) {
    Exec(connection_.Prepared(kInsertRun), run.id, run.identity, run.canonical, run.config,
         run.config_flat, run.factors, run.label, run.observations, run.stop, run.data_name,
         run.data_sha256, run.seed, run.steps, run.warmup, run.cost_class, run.needs.gpus,
         run.needs.cpus, run.needs.memory_bytes, run.needs.budget_failures,
         run.needs.budget_preemptions, run.needs.budget_time_s, run.needs.budget_stall_s, now);
  }
}

void SqliteRunStore::WriteMembers(const RunChanges& changes, const std::string& now) {
  for (const MemberRow& member : changes.members) {
    Exec(connection_.Prepared(kInsertMember), member.sweep, member.cell, member.seed, member.run,
         member.linked);
    Exec(connection_.Prepared(kAddFactors), member.run, member.factors);
  }
  for (const SweepCancellation& cancelled : changes.cancelled) {
    Exec(connection_.Prepared(kCancelSweep), cancelled.sweep, now, cancelled.reason);
    Exec(connection_.Prepared(kDropMembers), cancelled.sweep, now);
  }
}

void SqliteRunStore::WriteWorkers(const RunChanges& changes, const std::string& now) {
  for (const WorkerRow& worker : changes.workers) {
    Exec(connection_.Prepared(kUpsertWorker), worker.id, worker.incarnation, worker.state,
         worker.host, worker.local, worker.draining, worker.slots, worker.cpus, worker.memory_bytes,
         worker.gpus, worker.store_id, worker.protocol, worker.build, worker.trainer_build,
         worker.trainer_math, worker.torch, worker.isa, worker.trainer_error,
         worker.failures_in_a_row, TimeText(worker.quarantined_until), now);
  }
}

void SqliteRunStore::WriteAttempts(const RunChanges& changes, const std::string& now) {
  for (const AttemptRow& attempt : changes.attempts) {
    Exec(connection_.Prepared(kUpsertAttempt), attempt.run, attempt.number, attempt.token,
         attempt.worker, attempt.incarnation, attempt.store_id, attempt.state, attempt.reason,
         attempt.parent, attempt.start_step, attempt.count_after, attempt.count_to, now);
    Exec(connection_.Prepared(kInsertLog), attempt.run, attempt.number);
  }
}

void SqliteRunStore::WriteStates(const RunChanges& changes, const std::string& now) {
  for (const RunStateRow& run : changes.states) {
    Exec(connection_.Prepared(kUpdateState), run.id, run.state, run.reason, run.failure,
         run.outcome, run.stopped_by, run.failures, run.preemptions, run.idle_losses, run.used_s,
         TimeText(run.waiting_until), run.avoid_worker, run.attempts, run.head, now);
  }
  for (const TransitionRow& transition : changes.transitions) {
    Exec(connection_.Prepared(kInsertTransition), transition.run, now, transition.state,
         transition.reason, transition.attempt, transition.worker);
  }
}

}  // namespace normlab::server
