#include "model/record_sink.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_format.h"
#include "core/status.h"

namespace normlab::model {
namespace {

constexpr int64_t kShownLines = 30;  // lines of scalars over a whole run

double ValueOf(const ScalarsRecord& scalars, std::string_view key) {
  for (const auto& [name, value] : scalars.values) {
    if (name == key) return value;
  }
  return 0;
}

}  // namespace

absl::Status FrameSink::Write(const Record& record) { return writer_.Write(EncodeRecord(record)); }

absl::StatusOr<std::unique_ptr<LogSink>> LogSink::Open(const std::string& dir, int64_t steps,
                                                       std::FILE* terminal) {
  ASSIGN_OR_RETURN(std::unique_ptr<AttemptLogWriter> log, AttemptLogWriter::Open(dir));
  if (log->repaired_bytes() > 0) {
    absl::FPrintF(terminal, "the log ended in the middle of a record: %d bytes moved to %s/%s\n",
                  log->repaired_bytes(), dir, kAttemptLogBadFile);
  }
  return std::unique_ptr<LogSink>(new LogSink(std::move(log), steps, terminal));
}

absl::Status LogSink::Write(const Record& record) {
  RETURN_IF_ERROR(log_->Append(EncodeRecord(record)));
  Show(record);
  return absl::OkStatus();
}

void LogSink::Show(const Record& record) {
  if (const auto* scalars = std::get_if<ScalarsRecord>(&record)) {
    const int64_t every = std::max<int64_t>(1, steps_ / kShownLines);
    if (scalars->step % every != 0 && scalars->step != 1) return;
    absl::FPrintF(terminal_, "step %d/%d  loss %.4f  grad %.3f  lr %.2e  %.0f tokens/s\n",
                  scalars->step, steps_, ValueOf(*scalars, "train_loss"),
                  ValueOf(*scalars, "grad_norm"), ValueOf(*scalars, "lr"),
                  ValueOf(*scalars, "tokens_per_s"));
  } else if (const auto* eval = std::get_if<EvalRecord>(&record)) {
    absl::FPrintF(terminal_, "step %d  validation loss %.4f  perplexity %.3f\n", eval->step,
                  eval->val_loss, eval->ppl_of_mean);
  } else if (const auto* event = std::get_if<EventRecord>(&record)) {
    absl::FPrintF(terminal_, "step %d  %s %s\n", event->step, event->kind, event->detail_json);
  } else if (const auto* checkpoint = std::get_if<CheckpointRecord>(&record)) {
    absl::FPrintF(terminal_, "step %d  checkpoint %s\n", checkpoint->step, checkpoint->dir);
  }
  std::fflush(terminal_);
}

}  // namespace normlab::model
