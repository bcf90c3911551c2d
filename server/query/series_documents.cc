#include "server/query/series_documents.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/query/picture.h"
#include "server/query/row_view.h"
#include "server/store/read_only_store.h"
#include "server/store/reader.h"

namespace normlab::server {

using nlohmann::json;

namespace {

// A log line's place among all lines of a run: attempt above, seq within the attempt's log below.
constexpr int kSeqBits = 32;

json Numbers(const std::vector<double>& values) {
  json numbers = json::array();
  for (const double value : values) numbers.push_back(NumberOrMarker(value));
  return numbers;
}

json NumberOrNull(const std::optional<double>& value) {
  return value ? NumberOrMarker(*value) : json();
}

absl::StatusOr<std::string> RequiredKey(const Params& params) {
  std::string key = TextParam(params, "key", "");
  if (key.empty()) return InvalidArgument("'key' is missing: which series?");
  return key;
}

// An empty answer is fine for a run that has nothing yet, but not for a misspelt key.
absl::Status CheckKey(RunId run, const std::string& kind, const std::string& key,
                      const absl::StatusOr<std::vector<std::string>>& keys) {
  RETURN_IF_ERROR(keys.status());
  if (keys->empty() || std::find(keys->begin(), keys->end(), key) != keys->end()) {
    return absl::OkStatus();
  }
  return NotFound(ToString(run), " has no ", kind, " '", key, "'; it has ", Join(*keys, ", "));
}

json PictureDocument(const ScalarSeries& series, int64_t points, json document) {
  const std::vector<Bucket> picture = MakePicture(series.step, series.value, points);
  document["exact"] = false;
  for (const char* list : {"from", "to", "min", "max", "first", "last", "n", "nonfinite"}) {
    document[list] = json::array();
  }
  for (const Bucket& bucket : picture) {
    document["from"].push_back(bucket.from);
    document["to"].push_back(bucket.to);
    document["min"].push_back(NumberOrNull(bucket.min));
    document["max"].push_back(NumberOrNull(bucket.max));
    document["first"].push_back(NumberOrMarker(bucket.first));
    document["last"].push_back(NumberOrMarker(bucket.last));
    document["n"].push_back(bucket.n);
    document["nonfinite"].push_back(bucket.nonfinite);
  }
  return document;
}

absl::StatusOr<ProfileSeries> ReadAskedProfiles(ReadOnlyStore& store, RunId run,
                                                const std::string& key, const Params& params) {
  const std::string step = TextParam(params, "step", "");
  if (step == "last") return ReadLastProfile(store, run, key);
  if (step.empty()) return ReadProfiles(store, run, key);
  ASSIGN_OR_RETURN(const std::optional<int64_t> number, IntParam(params, "step", 0));
  return ReadProfiles(store, run, key, StepRange{*number, *number});
}

}  // namespace

absl::StatusOr<json> ScalarsDocument(ReadOnlyStore& store, RunId run, const Params& params) {
  RETURN_IF_ERROR(CheckParams(params, {"key", "from", "to", "points"}));
  ASSIGN_OR_RETURN(const std::string key, RequiredKey(params));
  StepRange range;
  ASSIGN_OR_RETURN(const std::optional<int64_t> from, IntParam(params, "from", 0));
  ASSIGN_OR_RETURN(const std::optional<int64_t> to, IntParam(params, "to", 0));
  ASSIGN_OR_RETURN(const std::optional<int64_t> points, IntParam(params, "points", 1));
  if (from) range.from = *from;
  if (to) range.to = *to;
  ASSIGN_OR_RETURN(const ScalarSeries series, ReadScalars(store, run, key, range));
  if (series.step.empty()) {
    RETURN_IF_ERROR(CheckKey(run, "scalar", key, ScalarKeys(store, run)));
  }
  json document = {{"schema", "normlab.scalars.v1"}, {"run", ToString(run)}, {"key", key}};
  if (points) return PictureDocument(series, *points, std::move(document));
  document["exact"] = true;
  document["step"] = series.step;
  document["value"] = Numbers(series.value);
  document["attempt"] = series.attempt;
  return document;
}

absl::StatusOr<json> ProfilesDocument(ReadOnlyStore& store, RunId run, const Params& params) {
  RETURN_IF_ERROR(CheckParams(params, {"key", "step"}));
  ASSIGN_OR_RETURN(const std::string key, RequiredKey(params));
  ASSIGN_OR_RETURN(const ProfileSeries series, ReadAskedProfiles(store, run, key, params));
  if (series.step.empty()) {
    RETURN_IF_ERROR(CheckKey(run, "profile", key, ProfileKeys(store, run)));
  }
  json values = json::array();
  for (const std::vector<double>& profile : series.values) values.push_back(Numbers(profile));
  return json{
      {"schema", "normlab.profiles.v1"},   {"run", ToString(run)}, {"key", key},
      {"first_index", series.first_index}, {"step", series.step},  {"attempt", series.attempt},
      {"values", std::move(values)}};
}

absl::StatusOr<json> EventsDocument(ReadOnlyStore& store, RunId run, const Params& params) {
  RETURN_IF_ERROR(CheckParams(params, {}));
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT step, kind, attempt, detector, version, parameters, detail "
                               "FROM event_v WHERE run_id = ?1 AND counted ORDER BY step, kind",
                               {run.value()}));
  json events = json::array();
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    events.push_back({{"step", row.Json("step")},
                      {"kind", row.Json("kind")},
                      {"attempt", row.Json("attempt")},
                      {"detector", row.JsonOrNull("detector")},
                      {"version", row.Json("version")},
                      {"parameters", row.Parsed("parameters")},
                      {"detail", row.Parsed("detail")}});
  }
  return json{
      {"schema", "normlab.events.v1"}, {"run", ToString(run)}, {"events", std::move(events)}};
}

absl::StatusOr<json> EvalsDocument(ReadOnlyStore& store, RunId run, const Params& params) {
  RETURN_IF_ERROR(CheckParams(params, {}));
  ASSIGN_OR_RETURN(const std::vector<EvalPoint> points, ReadEvals(store, run));
  json evals = json::array();
  for (const EvalPoint& point : points) {
    evals.push_back({{"step", point.step},
                     {"val_loss", NumberOrMarker(point.val_loss)},
                     {"ppl_of_mean", NumberOrMarker(point.ppl_of_mean)},
                     {"mean_seq_ppl", NumberOrMarker(point.mean_seq_ppl)},
                     {"attempt", point.attempt}});
  }
  return json{{"schema", "normlab.evals.v1"}, {"run", ToString(run)}, {"evals", std::move(evals)}};
}

absl::StatusOr<json> LogsDocument(ReadOnlyStore& store, RunId run, const Params& params) {
  RETURN_IF_ERROR(CheckParams(params, {"after"}));
  ASSIGN_OR_RETURN(const std::optional<int64_t> after, IntParam(params, "after", 0));
  ASSIGN_OR_RETURN(const SqlRows rows,
                   store.Query("SELECT (attempt << ?2) + seq AS place, attempt, text FROM log_line "
                               "WHERE run = ?1 AND (attempt << ?2) + seq > ?3 "
                               "ORDER BY attempt, seq",
                               {run.value(), int64_t{kSeqBits}, after.value_or(0)}));
  json lines = json::array();
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const RowView row(rows, i);
    lines.push_back(
        {{"seq", row.Json("place")}, {"attempt", row.Json("attempt")}, {"text", row.Json("text")}});
  }
  return json{{"schema", "normlab.logs.v1"}, {"run", ToString(run)}, {"lines", std::move(lines)}};
}

}  // namespace normlab::server
