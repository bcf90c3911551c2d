#include "worker/relay.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "proto/control.pb.h"

namespace normlab::worker {

Relay::Relay(RelayOptions options, AttemptStore& store, ServerLink& link)
    : options_(std::move(options)), store_(store), link_(link) {}

Relay::Result Relay::Step() {
  Result result;
  for (const auto& attempt : store_.All()) {
    const absl::Status status = Send(*attempt, result);
    result.status.Update(AddContext(
        status, absl::StrCat("Failed to hand over ", ToString(attempt->identity().run))));
    if (IsRetryable(status)) break;
  }
  return result;
}

absl::Status Relay::Send(HeldAttempt& attempt, Result& result) {
  if (attempt.Delivered()) return absl::OkStatus();
  v1::AppendRequest request;
  request.set_worker_id(options_.worker.value());
  request.set_incarnation(options_.incarnation.value());
  request.set_run(attempt.identity().run.value());
  request.set_attempt(attempt.identity().attempt.value());
  request.set_token(attempt.identity().token.value());
  request.set_first_seq(1);
  // What the server has is not known after a restart: a call without records asks.
  if (const auto acked = attempt.acked(); acked.has_value()) {
    ASSIGN_OR_RETURN(auto records, attempt.SyncedRecordsAfter(*acked, options_.max_batch_bytes));
    if (records.empty()) return absl::OkStatus();
    request.set_first_seq(*acked + 1);
    for (SeqRecord& record : records) request.add_records(std::move(record.bytes));
  }
  ASSIGN_OR_RETURN(const v1::AppendReply reply, link_.AppendRecords(request));
  attempt.set_acked(reply.acked_seq());
  const bool delivered = attempt.Delivered();
  result.delivered |= delivered;
  result.more |= !delivered && reply.acked_seq() < attempt.progress().last_seq;
  return absl::OkStatus();
}

}  // namespace normlab::worker
