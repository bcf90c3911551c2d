#include "server/store/reader.h"

#include <bit>
#include <cmath>
#include <utility>

#include "core/json.h"
#include "core/little_endian.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/store/series_reader.h"

namespace normlab::server {
namespace {

SeriesQuery QueryOf(RunId run, std::string_view key, const StepRange& range) {
  return {run.value(), key, range.from, range.to};
}

ProfileSeries SeriesOf(std::vector<ProfileAt> profiles) {
  ProfileSeries series;
  for (ProfileAt& profile : profiles) {
    series.first_index = static_cast<int>(profile.first_index);
    series.step.push_back(profile.step);
    series.attempt.push_back(static_cast<int>(profile.attempt));
    series.values.push_back(std::move(profile.values));
  }
  return series;
}

absl::StatusOr<std::vector<std::string>> Texts(ReadOnlyStore& store, std::string_view sql,
                                               RunId run) {
  ASSIGN_OR_RETURN(const SqlRows rows, store.Query(sql, {run.value()}));
  std::vector<std::string> texts;
  for (const SqlRow& row : rows.rows) texts.push_back(std::get<std::string>(row[0]));
  return texts;
}

constexpr char kSummarySql[] = R"(
  SELECT attempt, step, tokens, spikes, val_step, best_val_step, first_nonfinite_step, nan_columns,
         train_loss, grad_norm, lr, tokens_per_s, val_loss, ppl_of_mean, mean_seq_ppl,
         best_val_loss, growth_first, growth_last
  FROM run_summary WHERE run = ?1)";

std::optional<int64_t> MaybeInt(const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  return std::nullopt;
}

// Fills the optional doubles from columns 8 on, NaN where the row says so.
absl::Status FillReals(const SqlRow& row, RunSummary& summary) {
  ASSIGN_OR_RETURN(const nlohmann::json nan_columns, ParseJson(std::get<std::string>(row[7])));
  struct Column {
    const char* name;
    std::optional<double>* value;
  };
  const Column columns[] = {
      {"train_loss", &summary.train_loss},
      {"grad_norm", &summary.grad_norm},
      {"lr", &summary.lr},
      {"tokens_per_s", &summary.tokens_per_s},
      {"val_loss", &summary.val_loss},
      {"ppl_of_mean", &summary.ppl_of_mean},
      {"mean_seq_ppl", &summary.mean_seq_ppl},
      {"best_val_loss", &summary.best_val_loss},
      {"growth_first", &summary.growth_first},
      {"growth_last", &summary.growth_last},
  };
  for (size_t i = 0; i < std::size(columns); ++i) {
    if (const auto* real = std::get_if<double>(&row[8 + i])) *columns[i].value = *real;
    for (const nlohmann::json& name : nan_columns) {
      if (name == columns[i].name) *columns[i].value = std::nan("");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ScalarSeries> ReadScalars(ReadOnlyStore& store, RunId run, std::string_view key,
                                         const StepRange& range) {
  ASSIGN_OR_RETURN(const auto points, ReadScalarPoints(store.handle(), QueryOf(run, key, range)));
  ScalarSeries series;
  series.step.reserve(points.size());
  series.value.reserve(points.size());
  series.attempt.reserve(points.size());
  for (const SeriesPoint& point : points) {
    series.step.push_back(point.step);
    series.value.push_back(point.value);
    series.attempt.push_back(static_cast<int>(point.attempt));
  }
  return series;
}

absl::StatusOr<ProfileSeries> ReadProfiles(ReadOnlyStore& store, RunId run, std::string_view key,
                                           const StepRange& range) {
  ASSIGN_OR_RETURN(auto profiles, ReadProfileVectors(store.handle(), QueryOf(run, key, range)));
  return SeriesOf(std::move(profiles));
}

absl::StatusOr<ProfileSeries> ReadLastProfile(ReadOnlyStore& store, RunId run,
                                              std::string_view key) {
  ASSIGN_OR_RETURN(auto profiles,
                   ReadProfileVectors(store.handle(), QueryOf(run, key, {}), /*newest_only=*/true));
  return SeriesOf(std::move(profiles));
}

absl::StatusOr<std::vector<EvalPoint>> ReadEvals(ReadOnlyStore& store, RunId run) {
  ASSIGN_OR_RETURN(const SqlRows rows, store.Query(R"(
      SELECT e.step, e.attempt, e.bits FROM eval e JOIN attempt a
      ON a.run = e.run AND a.number = e.attempt
      WHERE e.run = ?1 AND e.step > a.count_after AND e.step <= a.count_to ORDER BY e.step)",
                                                   {run.value()}));
  std::vector<EvalPoint> evals;
  for (const SqlRow& row : rows.rows) {
    const std::string& bits = std::get<Blob>(row[2]).bytes;
    if (bits.size() != 3 * sizeof(double)) return DataLoss("an evaluation has the wrong size");
    const auto value = [&bits](size_t i) {
      return std::bit_cast<double>(GetLittleEndian<uint64_t>(bits.data() + i * sizeof(double)));
    };
    evals.push_back({std::get<int64_t>(row[0]), value(0), value(1), value(2),
                     static_cast<int>(std::get<int64_t>(row[1]))});
  }
  return evals;
}

absl::StatusOr<std::optional<RunSummary>> ReadSummary(ReadOnlyStore& store, RunId run) {
  ASSIGN_OR_RETURN(const SqlRows rows, store.Query(kSummarySql, {run.value()}));
  if (rows.rows.empty()) return std::optional<RunSummary>();
  const SqlRow& row = rows.rows[0];
  RunSummary summary;
  summary.attempt = static_cast<int>(std::get<int64_t>(row[0]));
  summary.step = std::get<int64_t>(row[1]);
  summary.tokens = std::get<int64_t>(row[2]);
  summary.spikes = std::get<int64_t>(row[3]);
  summary.val_step = MaybeInt(row[4]);
  summary.best_val_step = MaybeInt(row[5]);
  summary.first_nonfinite_step = MaybeInt(row[6]);
  RETURN_IF_ERROR(FillReals(row, summary));
  return std::optional<RunSummary>(summary);
}

absl::StatusOr<std::vector<std::string>> ScalarKeys(ReadOnlyStore& store, RunId run) {
  return Texts(store, R"(
      SELECT DISTINCT b.key FROM scalar_block b JOIN attempt a
      ON a.run = b.run AND a.number = b.attempt
      WHERE b.run = ?1 AND b.last_step > a.count_after AND b.first_step <= a.count_to
      ORDER BY b.key)",
               run);
}

absl::StatusOr<std::vector<std::string>> ProfileKeys(ReadOnlyStore& store, RunId run) {
  return Texts(store, R"(
      SELECT DISTINCT p.key FROM profile_row p JOIN attempt a
      ON a.run = p.run AND a.number = p.attempt
      WHERE p.run = ?1 AND p.step > a.count_after AND p.step <= a.count_to ORDER BY p.key)",
               run);
}

}  // namespace normlab::server
