// The reading half of SqliteMetricStore.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "core/little_endian.h"
#include "core/strings.h"
#include "server/store/bind.h"
#include "server/store/row_reader.h"
#include "server/store/sqlite_metric_store.h"

namespace normlab::server {
namespace {

constexpr char kFindLog[] = R"(
  SELECT l.acked_seq, l.last_step, l.resumed_from_step, l.exit_seq IS NOT NULL, a.parent,
         r.steps, r.warmup,
         coalesce(r.config_flat ->> '$."train.batch"', 0) *
           coalesce(r.config_flat ->> '$."model.seq_len"', 0),
         d.unigram_entropy
  FROM attempt a JOIN attempt_log l ON l.run = a.run AND l.attempt = a.number
  JOIN run r ON r.id = a.run LEFT JOIN data_set d ON d.sha256 = r.data_sha256
  WHERE a.token = ?1 AND a.run = ?2 AND a.number = ?3)";
constexpr char kParent[] = R"(
  SELECT a.parent, coalesce(l.resumed_from_step, -1)
  FROM attempt a JOIN attempt_log l ON l.run = a.run AND l.attempt = a.number
  WHERE a.run = ?1 AND a.number = ?2)";
constexpr char kBlocks[] = R"(
  SELECT key, codec, version, first_step, n, blob FROM scalar_block
  WHERE run = ?1 AND attempt = ?2 AND last_step > ?3 AND first_step <= ?4 ORDER BY key, block)";
constexpr char kEvals[] = R"(
  SELECT step, bits FROM eval WHERE run = ?1 AND attempt = ?2 AND step > ?3 AND step <= ?4
  ORDER BY step)";
constexpr char kEvents[] = R"(
  SELECT attempt, step, kind, baseline, height, z, recovered, detector, version, parameters, detail
  FROM event WHERE run = ?1 AND attempt = ?2 AND step > ?3 AND step <= ?4 AND detector <> ''
  ORDER BY step, id)";
constexpr char kGrowth[] = R"(
  SELECT step, first_index, codec, version, n, blob FROM profile_row
  WHERE run = ?1 AND attempt = ?2 AND key = 'hidden_ma' AND step > ?3 AND step <= ?4
  ORDER BY step DESC LIMIT 1)";

EventRow ReadEvent(RowReader& row) {
  EventRow event;
  event.attempt = row.As<AttemptNumber>();
  event.step = row.Int();
  event.kind = row.Text();
  event.baseline = row.MaybeReal();
  event.height = row.MaybeReal();
  event.z = row.MaybeReal();
  if (const auto recovered = row.MaybeInt()) event.recovered = *recovered != 0;
  event.detector = row.Text();
  event.version = row.Int();
  event.parameters = row.Text();
  event.detail = row.Text();
  return event;
}

EvalRecord ReadEval(RowReader& row, absl::Status& decoded) {
  EvalRecord eval;
  eval.step = row.Int();
  std::vector<double> values;
  decoded.Update(DecodeProfile(kPlainCodec, kPlainCodecVersion, 3, row.Text(), values));
  if (values.size() != 3) return eval;
  eval.val_loss = values[0];
  eval.ppl_of_mean = values[1];
  eval.mean_seq_ppl = values[2];
  return eval;
}

}  // namespace

absl::StatusOr<LogState> SqliteMetricStore::FindLog(LeaseToken token, RunId run,
                                                    AttemptNumber attempt) {
  std::optional<LogState> found;
  const absl::Status status = connection_.Read("cannot look up an attempt", [&] {
    ForEachRow(Bind(connection_.Prepared(kFindLog), token, run, attempt), [&](RowReader& row) {
      found.emplace();
      found->acked_seq = static_cast<uint64_t>(row.Int());
      found->last_step = row.Int();
      found->resumed_from_step = row.MaybeInt();
      found->exited = row.Bool();
      found->parent = row.As<AttemptNumber>();
      found->steps = row.Int();
      found->warmup = row.Int();
      found->tokens_per_step = row.Int();
      found->unigram_entropy = row.MaybeReal();
    });
  });
  if (!status.ok()) return status;
  if (!found.has_value()) {
    return NotFound("token ", ToString(token), " was never issued for attempt ", ToString(attempt),
                    " of ", ToString(run));
  }
  return *found;
}

std::vector<SqliteMetricStore::LinePart> SqliteMetricStore::LineOf(RunId run, AttemptNumber attempt,
                                                                   int64_t resumed_from_step) {
  std::vector<LinePart> line;
  int64_t to = std::numeric_limits<int64_t>::max();
  int64_t start = resumed_from_step;
  while (attempt) {
    AttemptNumber parent;
    int64_t own_start = -1;
    ForEachRow(Bind(connection_.Prepared(kParent), run, attempt), [&](RowReader& row) {
      parent = row.As<AttemptNumber>();
      own_start = row.Int();
    });
    // Of the first, what the caller knows; its hello may not be committed yet.
    if (!line.empty()) start = own_start;
    line.push_back({attempt, start, to});
    // A parent that began later gave nothing: it was an ancestor's checkpoint that served.
    to = std::min(to, start);
    attempt = start < 0 ? AttemptNumber() : parent;
  }
  std::reverse(line.begin(), line.end());
  return line;
}

void SqliteMetricStore::LoadPart(RunId run, const LinePart& part, LineHistory& history,
                                 absl::Status& decoded) {
  std::vector<ScalarPoint> block;
  ForEachRow(Bind(connection_.Prepared(kBlocks), run, part.attempt, part.after, part.to),
             [&](RowReader& row) {
               std::vector<ScalarPoint>& series = history.scalars[row.Text()];
               const int64_t codec = row.Int();
               const int64_t version = row.Int();
               const int64_t first_step = row.Int();
               const int64_t n = row.Int();
               block.clear();
               decoded.Update(DecodeScalars(codec, version, first_step, n, row.Text(), block));
               for (const ScalarPoint& point : block) {
                 if (point.step > part.after && point.step <= part.to) series.push_back(point);
               }
             });
  ForEachRow(Bind(connection_.Prepared(kEvals), run, part.attempt, part.after, part.to),
             [&](RowReader& row) { history.evals.push_back(ReadEval(row, decoded)); });
  ForEachRow(Bind(connection_.Prepared(kEvents), run, part.attempt, part.after, part.to),
             [&](RowReader& row) { history.events.push_back(ReadEvent(row)); });
  ForEachRow(Bind(connection_.Prepared(kGrowth), run, part.attempt, part.after, part.to),
             [&](RowReader& row) {
               ProfileRecord profile;
               profile.step = row.Int();
               profile.key = "hidden_ma";
               profile.first_index = static_cast<int32_t>(row.Int());
               const int64_t codec = row.Int();
               const int64_t version = row.Int();
               const int64_t n = row.Int();
               decoded.Update(DecodeProfile(codec, version, n, row.Text(), profile.values));
               history.newest_growth = std::move(profile);
             });
}

absl::StatusOr<LineHistory> SqliteMetricStore::LoadLine(RunId run, AttemptNumber attempt,
                                                        int64_t resumed_from_step) {
  LineHistory history;
  absl::Status decoded;
  const absl::Status status =
      connection_.Read(Cat("cannot read the history of ", ToString(run)), [&] {
        for (const LinePart& part : LineOf(run, attempt, resumed_from_step)) {
          LoadPart(run, part, history, decoded);
        }
      });
  if (!status.ok()) return status;
  if (!decoded.ok()) return decoded;
  return history;
}

}  // namespace normlab::server
