#include "server/store/sqlite_metric_store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/clock.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/store/bind.h"
#include "server/store/row_reader.h"

namespace normlab::server {
namespace {

constexpr char kUpdateLog[] = R"(
  UPDATE attempt_log SET acked_seq = ?3, last_step = ?4, lost_records = lost_records + ?5
  WHERE run = ?1 AND attempt = ?2)";
constexpr char kUpdateHello[] = R"(
  UPDATE attempt_log SET hello = ?3, resumed_from_step = ?4, started_at = ?5
  WHERE run = ?1 AND attempt = ?2)";
constexpr char kUpdateExit[] = R"(
  UPDATE attempt_log SET exit_seq = ?3, exit_at = ?4, exit_code = ?5, signal = ?6, exit_reason = ?7,
    stopped_by = ?8, max_rss_bytes = ?9, wall_s = ?10, cpu_s = ?11, last_lines = ?12, outcome = ?13
  WHERE run = ?1 AND attempt = ?2)";
constexpr char kLastBlock[] = R"(
  SELECT block, last_step, n FROM scalar_block WHERE run = ?1 AND attempt = ?2 AND key = ?3
  ORDER BY block DESC LIMIT 1)";
constexpr char kInsertBlock[] = R"(
  INSERT INTO scalar_block (run, attempt, key, block, first_step, last_step, n, nonfinite, min, max,
                            codec, version, blob)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13))";
// || makes text of two blobs, byte for byte; the cast takes that back.
constexpr char kAppendBlock[] = R"(
  UPDATE scalar_block SET last_step = ?5, n = n + ?6, nonfinite = nonfinite + ?7,
    min = iif(min IS NULL OR ?8 < min, ?8, min), max = iif(max IS NULL OR ?9 > max, ?9, max),
    blob = CAST(blob || ?10 AS BLOB)
  WHERE run = ?1 AND attempt = ?2 AND key = ?3 AND block = ?4)";
constexpr char kInsertProfile[] = R"(
  INSERT INTO profile_row (run, attempt, key, step, first_index, n, codec, version, blob)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING)";
constexpr char kInsertEval[] = R"(
  INSERT INTO eval (run, attempt, step, val_loss, ppl_of_mean, mean_seq_ppl, bits)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING)";
constexpr char kUpsertEvent[] = R"(
  INSERT INTO event (run, attempt, step, kind, baseline, height, z, recovered, detector, version,
                     parameters, detail)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
  ON CONFLICT (run, attempt, step, kind, detector) WHERE detector <> '' DO UPDATE SET
    baseline = excluded.baseline, height = excluded.height, z = excluded.z,
    recovered = excluded.recovered, version = excluded.version,
    parameters = excluded.parameters, detail = excluded.detail)";
constexpr char kInsertCheckpoint[] = R"(
  INSERT INTO checkpoint (run, attempt, step, dir, sha256, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT DO NOTHING)";
constexpr char kInsertLine[] = R"(
  INSERT INTO log_line (run, attempt, seq, text) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING)";
constexpr char kUpsertVerdict[] = R"(
  INSERT INTO verdict (run, attempt, kind, value, estimate, method, version, parameters)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
  ON CONFLICT (run, attempt, kind) DO UPDATE SET value = excluded.value,
    estimate = excluded.estimate, method = excluded.method, version = excluded.version,
    parameters = excluded.parameters)";
constexpr char kShown[] = R"(
  SELECT 1 FROM attempt a JOIN run r ON r.id = a.run
  WHERE a.run = ?1 AND a.number = ?2 AND (a.state = 'running' OR r.head = a.number))";
constexpr char kUpsertSummary[] = R"(
  INSERT OR REPLACE INTO run_summary (run, attempt, step, train_loss, grad_norm, lr, tokens_per_s,
    tokens, val_step, val_loss, ppl_of_mean, mean_seq_ppl, best_val_loss, best_val_step, spikes,
    first_nonfinite_step, growth_first, growth_last, nan_columns)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19))";
constexpr char kSweepsOf[] = "SELECT DISTINCT sweep FROM member WHERE run = ?1";

std::string HelloJson(const HelloRecord& hello) {
  return DumpStrict({{"protocol", hello.protocol},
                     {"build", hello.build},
                     {"trainer_math", hello.trainer_math},
                     {"torch", hello.torch},
                     {"isa", hello.isa},
                     {"threads", hello.threads},
                     {"device", hello.device},
                     {"pid", hello.pid},
                     {"resumed_from_step", hello.resumed_from_step},
                     {"started_at", hello.started_at}});
}

// Names of the summary's reals that are NaN, as JSON.
std::string NanColumns(const RunSummary& summary) {
  nlohmann::json names = nlohmann::json::array();
  const auto add = [&names](const char* name, const std::optional<double>& value) {
    if (value.has_value() && std::isnan(*value)) names.push_back(name);
  };
  add("train_loss", summary.train_loss);
  add("grad_norm", summary.grad_norm);
  add("lr", summary.lr);
  add("tokens_per_s", summary.tokens_per_s);
  add("val_loss", summary.val_loss);
  add("ppl_of_mean", summary.ppl_of_mean);
  add("mean_seq_ppl", summary.mean_seq_ppl);
  add("growth_first", summary.growth_first);
  add("growth_last", summary.growth_last);
  return DumpStrict(names);
}

struct BlockFacts {
  int64_t nonfinite = 0;
  std::optional<double> min, max;
};

BlockFacts FactsOf(const std::vector<ScalarPoint>& points) {
  BlockFacts facts;
  for (const ScalarPoint& point : points) {
    if (!std::isfinite(point.value)) {
      ++facts.nonfinite;
      continue;
    }
    facts.min = std::min(facts.min.value_or(point.value), point.value);
    facts.max = std::max(facts.max.value_or(point.value), point.value);
  }
  return facts;
}

}  // namespace

absl::StatusOr<std::set<SweepId>> SqliteMetricStore::Commit(const std::vector<LogUpdate>& updates,
                                                            absl::Time now) {
  std::set<SweepId> sweeps;
  const std::string now_text = FormatUtc(now);
  const absl::Status status = connection_.Write("cannot commit records", [&] {
    for (const LogUpdate& update : updates) {
      WriteLog(update, now_text);
      WriteScalars(update);
      WriteProfilesAndEvals(update);
      WriteEvents(update);
      WriteRest(update);
      WriteSummary(update);
      ForEachRow(Bind(connection_.Prepared(kSweepsOf), update.run),
                 [&](RowReader& row) { sweeps.insert(row.As<SweepId>()); });
    }
  });
  if (!status.ok()) return status;
  return sweeps;
}

void SqliteMetricStore::WriteLog(const LogUpdate& update, const std::string& now) {
  Exec(connection_.Prepared(kUpdateLog), update.run, update.attempt, update.acked_seq,
       update.last_step, update.lost_records);
  if (update.hello.has_value()) {
    const HelloRecord& hello = *update.hello;
    Exec(connection_.Prepared(kUpdateHello), update.run, update.attempt, HelloJson(hello),
         hello.resumed_from_step, hello.started_at);
  }
  if (update.exit.has_value()) {
    const ExitRecord& exit = *update.exit;
    Exec(connection_.Prepared(kUpdateExit), update.run, update.attempt, update.exit_seq, now,
         exit.exit_code, exit.signal, exit.reason, exit.stopped_by, exit.max_rss_bytes, exit.wall_s,
         exit.cpu_s, DumpStrict(nlohmann::json(exit.last_lines)), update.outcome);
  }
}

void SqliteMetricStore::WriteScalars(const LogUpdate& update) {
  for (const auto& [key, points] : update.scalars) WriteScalarBlocks(update, key, points);
}

void SqliteMetricStore::WriteScalarBlocks(const LogUpdate& update, const std::string& key,
                                          const std::vector<ScalarPoint>& points) {
  int64_t block = -1;
  int64_t previous_step = 0;
  int64_t n = kBlockPoints;
  ForEachRow(Bind(connection_.Prepared(kLastBlock), update.run, update.attempt, key),
             [&](RowReader& row) {
               block = row.Int();
               previous_step = row.Int();
               n = row.Int();
             });
  for (auto next = points.begin(); next != points.end();) {
    const bool append = n < kBlockPoints;
    const int64_t room = append ? kBlockPoints - n : kBlockPoints;
    const auto end = next + std::min<int64_t>(room, points.end() - next);
    const std::vector<ScalarPoint> part(next, end);
    const BlockFacts facts = FactsOf(part);
    const int64_t last_step = part.back().step;
    if (append) {
      Exec(connection_.Prepared(kAppendBlock), update.run, update.attempt, key, block, last_step,
           part.size(), facts.nonfinite, facts.min, facts.max,
           Blob{EncodeScalars(part, previous_step)});
      n += static_cast<int64_t>(part.size());
    } else {
      const int64_t first_step = part.front().step;
      Exec(connection_.Prepared(kInsertBlock), update.run, update.attempt, key, ++block, first_step,
           last_step, part.size(), facts.nonfinite, facts.min, facts.max, kPlainCodec,
           kPlainCodecVersion, Blob{EncodeScalars(part, first_step)});
      n = static_cast<int64_t>(part.size());
    }
    previous_step = last_step;
    next = end;
  }
}

void SqliteMetricStore::WriteProfilesAndEvals(const LogUpdate& update) {
  for (const ProfileRecord& profile : update.profiles) {
    Exec(connection_.Prepared(kInsertProfile), update.run, update.attempt, profile.key,
         profile.step, profile.first_index, profile.values.size(), kPlainCodec, kPlainCodecVersion,
         Blob{EncodeProfile(profile.values)});
  }
  for (const EvalRecord& eval : update.evals) {
    Exec(connection_.Prepared(kInsertEval), update.run, update.attempt, eval.step, eval.val_loss,
         eval.ppl_of_mean, eval.mean_seq_ppl,
         Blob{EncodeProfile({eval.val_loss, eval.ppl_of_mean, eval.mean_seq_ppl})});
  }
}

void SqliteMetricStore::WriteEvents(const LogUpdate& update) {
  for (const EventRow& event : update.events) {
    Exec(connection_.Prepared(kUpsertEvent), update.run, event.attempt, event.step, event.kind,
         event.baseline, event.height, event.z, event.recovered, event.detector, event.version,
         event.parameters, event.detail);
  }
}

void SqliteMetricStore::WriteRest(const LogUpdate& update) {
  for (const CheckpointRecord& checkpoint : update.checkpoints) {
    Exec(connection_.Prepared(kInsertCheckpoint), update.run, update.attempt, checkpoint.step,
         checkpoint.dir, checkpoint.sha256, checkpoint.bytes);
  }
  for (const LogLineRow& line : update.lines) {
    Exec(connection_.Prepared(kInsertLine), update.run, update.attempt, line.seq, line.text);
  }
  for (const VerdictRow& verdict : update.verdicts) {
    Exec(connection_.Prepared(kUpsertVerdict), update.run, update.attempt, verdict.kind,
         verdict.value, verdict.estimate, verdict.method, verdict.version, verdict.parameters);
  }
}

void SqliteMetricStore::WriteSummary(const LogUpdate& update) {
  if (!update.summary.has_value()) return;
  bool shown = false;
  ForEachRow(Bind(connection_.Prepared(kShown), update.run, update.attempt),
             [&](RowReader&) { shown = true; });
  if (!shown) return;
  const RunSummary& summary = *update.summary;
  Exec(connection_.Prepared(kUpsertSummary), update.run, summary.attempt, summary.step,
       summary.train_loss, summary.grad_norm, summary.lr, summary.tokens_per_s, summary.tokens,
       summary.val_step, summary.val_loss, summary.ppl_of_mean, summary.mean_seq_ppl,
       summary.best_val_loss, summary.best_val_step, summary.spikes, summary.first_nonfinite_step,
       summary.growth_first, summary.growth_last, NanColumns(summary));
}

}  // namespace normlab::server
