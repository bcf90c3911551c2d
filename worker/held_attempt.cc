#include "worker/held_attempt.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/json.h"
#include "core/status.h"
#include "nlohmann/json.hpp"

namespace normlab::worker {
namespace {

constexpr size_t kScanBytes = 4u << 20;
constexpr char kStoppedEvent[] = "stopped";

}  // namespace

HeldAttempt::HeldAttempt(std::string dir, const AttemptIdentity& identity,
                         std::function<void()> on_record)
    : dir_(std::move(dir)), identity_(identity), on_record_(std::move(on_record)) {}

absl::StatusOr<std::shared_ptr<HeldAttempt>> HeldAttempt::Open(std::string dir,
                                                               const AttemptIdentity& identity,
                                                               std::function<void()> on_record) {
  std::shared_ptr<HeldAttempt> attempt(
      new HeldAttempt(std::move(dir), identity, std::move(on_record)));
  {
    MutexLock lock(attempt->mu_);
    ASSIGN_OR_RETURN(attempt->writer_, AttemptLogWriter::Open(attempt->dir_));
  }
  {
    MutexLock lock(attempt->reader_mu_);
    ASSIGN_OR_RETURN(attempt->reader_, AttemptLogReader::Open(attempt->dir_));
  }
  RETURN_IF_ERROR(attempt->ReadProgress());
  return attempt;
}

absl::Status HeldAttempt::ReadProgress() {
  MutexLock reader_lock(reader_mu_);
  MutexLock lock(mu_);
  for (;;) {
    ASSIGN_OR_RETURN(const auto records, reader_->ReadFrom(progress_.last_seq + 1, kScanBytes));
    if (records.empty()) return absl::OkStatus();
    for (const SeqRecord& each : records) {
      ASSIGN_OR_RETURN(const Record record, DecodeRecord(each.bytes));
      Note(record, each.seq);
    }
  }
}

void HeldAttempt::Note(const Record& record, uint64_t seq) {
  progress_.last_seq = seq;
  if (const auto* scalars = std::get_if<ScalarsRecord>(&record)) {
    progress_.last_step = std::max(progress_.last_step, scalars->step);
  } else if (const auto* event = std::get_if<EventRecord>(&record)) {
    if (event->kind != kStoppedEvent) return;
    const auto detail = ParseJson(event->detail_json);
    if (!detail.ok()) return;
    if (auto rule = JsonText(*detail, "rule"); rule.ok()) progress_.stopped_by = *rule;
  } else if (std::holds_alternative<ExitRecord>(record)) {
    progress_.finished = true;
  }
}

absl::Status HeldAttempt::Append(std::string_view bytes) {
  ASSIGN_OR_RETURN(const Record record, DecodeRecord(bytes));
  {
    MutexLock lock(mu_);
    if (progress_.finished) {
      return absl::FailedPreconditionError("the attempt's log has its exit record already");
    }
    ASSIGN_OR_RETURN(const uint64_t seq, writer_->Append(bytes));
    Note(record, seq);
  }
  on_record_();
  return absl::OkStatus();
}

HeldAttempt::Progress HeldAttempt::progress() const {
  MutexLock lock(mu_);
  return progress_;
}

absl::StatusOr<std::vector<SeqRecord>> HeldAttempt::SyncedRecordsAfter(uint64_t seq,
                                                                       size_t max_bytes) {
  uint64_t synced = 0;
  {
    MutexLock lock(mu_);
    if (progress_.last_seq <= seq) return std::vector<SeqRecord>();
    RETURN_IF_ERROR(writer_->Sync());
    synced = progress_.last_seq;
  }
  MutexLock lock(reader_mu_);
  ASSIGN_OR_RETURN(auto records, reader_->ReadFrom(seq + 1, max_bytes));
  // The trainer's thread may have appended since.
  std::erase_if(records, [synced](const SeqRecord& each) { return each.seq > synced; });
  return records;
}

std::optional<uint64_t> HeldAttempt::acked() const {
  MutexLock lock(mu_);
  return acked_;
}

void HeldAttempt::set_acked(uint64_t seq) {
  MutexLock lock(mu_);
  acked_ = seq;
}

bool HeldAttempt::Delivered() const {
  MutexLock lock(mu_);
  return progress_.finished && acked_.has_value() && *acked_ >= progress_.last_seq;
}

}  // namespace normlab::worker
