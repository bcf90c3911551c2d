// Submissions: a sweep file becomes members and runs.
#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/dispatch/dispatcher_impl.h"

namespace normlab::server {

absl::StatusOr<SubmitReply> Dispatcher::Impl::Submit(const SubmitRequest& request) {
  if (request.client_key.empty() && !request.dry_run) {
    return InvalidArgument("a submission carries a client key");
  }
  // The long part comes before the lock: expansion and rows need no state.
  ASSIGN_OR_RETURN(PreparedSweep prepared, PrepareSweep(request.spec_json, options_.datasets_dir));
  Changed changed;
  absl::StatusOr<SubmitReply> reply;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(HealthLocked());
    reply = SubmitLocked(request, prepared, changed);
  }
  Announce(changed);
  return reply;
}

absl::StatusOr<SubmitReply> Dispatcher::Impl::SubmitLocked(const SubmitRequest& request,
                                                           PreparedSweep& prepared,
                                                           Changed& changed) {
  const Moment now = Now();
  RETURN_IF_ERROR(Commit(scheduler_.OnTime(now.monotonic), now, changed));
  if (!request.dry_run) {
    ASSIGN_OR_RETURN(const auto earlier, store_.FindSubmission(request.client_key));
    if (earlier.has_value()) return SubmitReply{earlier->sweep, earlier->answer};
  }
  ASSIGN_OR_RETURN(const SubmissionPlan plan,
                   PlanSubmission(prepared, next_run_, request.fresh, store_));
  const std::optional<SweepId> id =
      request.dry_run ? std::nullopt : std::optional<SweepId>(next_sweep_);
  ASSIGN_OR_RETURN(const nlohmann::json answer, AnswerOf(prepared, plan, id, now));
  if (!id.has_value()) return SubmitReply{SweepId(), DumpStrict(answer)};

  const SweepSpec& spec = prepared.spec;
  RunChanges changes;
  changes.now = now.wall;
  changes.sweeps.push_back({*id, spec.name, request.client_key, prepared.spec_json,
                            DumpStrict(answer), prepared.expansion.combinations,
                            prepared.expansion.excluded, 0, request.max_failures});
  changes.datasets = DatasetRowsOf(prepared);
  changes.members = MemberRowsOf(prepared, plan, *id);
  changes.cells = TakeCellRows(prepared, *id);
  changes.runs = TakeRunRows(prepared, plan);
  NewSweep sweep;
  sweep.id = *id;
  sweep.max_failures = request.max_failures;
  sweep.linked = plan.linked;
  for (const RunRow& run : changes.runs) sweep.runs.push_back(RunOf(prepared, run.id));
  AddEffects(scheduler_.OnSubmitted(std::move(sweep), now.monotonic), now, changes, changed);
  changes.states.clear();  // new rows say the same, and linking moves nobody
  changed.sweeps.insert(*id);
  next_sweep_ = SweepId(next_sweep_.value() + 1);
  next_run_ = RunId(next_run_.value() + static_cast<int64_t>(plan.created.size()));
  RETURN_IF_ERROR(CommitChanges(changes));
  return SubmitReply{*id, DumpStrict(answer)};
}

absl::StatusOr<nlohmann::json> Dispatcher::Impl::AnswerOf(const PreparedSweep& prepared,
                                                          const SubmissionPlan& plan,
                                                          const std::optional<SweepId>& sweep,
                                                          const Moment& now) {
  const Expansion& expansion = prepared.expansion;
  const Resources& resources = prepared.spec.resources;
  const Demand demand{resources.gpus, resources.cpus, resources.memory_bytes};
  std::vector<std::string> warnings = prepared.spec.Warnings();
  const std::string nowhere =
      DemandWarning(demand, WorkersNow(now), scheduler_.options().trainer_math);
  if (!nowhere.empty() && !plan.created.empty()) warnings.push_back(nowhere);
  const bool bf16 = std::any_of(plan.created.begin(), plan.created.end(), [&](size_t member) {
    return expansion.members[member].config.Text("train.precision") == "bf16";
  });
  const std::string slow =
      bf16 ? SlowBf16Warning(demand, WorkersNow(now), scheduler_.options().trainer_math) : "";
  if (!slow.empty()) warnings.push_back(slow);
  nlohmann::json linked = nlohmann::json::array();
  for (const RunId run : plan.linked) linked.push_back(ToString(run));
  const auto linked_members = std::count_if(plan.members.begin(), plan.members.end(),
                                            [](const MemberPlan& member) { return member.linked; });
  ASSIGN_OR_RETURN(const nlohmann::json estimate, EstimateOf(prepared, plan));
  return nlohmann::json{
      {"schema", "normlab.submit.v1"},
      {"dry_run", !sweep.has_value()},
      {"sweep", sweep.has_value() ? nlohmann::json(ToString(*sweep)) : nlohmann::json()},
      {"name", prepared.spec.name},
      {"combinations", expansion.combinations},
      {"excluded", expansion.excluded},
      {"cells", expansion.cells.size()},
      {"runs", expansion.members.size()},
      {"linked", linked_members},
      {"linked_runs", linked},
      {"estimate_s", estimate},
      {"merged", MergeTexts(expansion)},
      {"warnings", warnings}};
}

// Seconds until all new runs are done, from what comparable runs took per step; null without any.
absl::StatusOr<nlohmann::json> Dispatcher::Impl::EstimateOf(const PreparedSweep& prepared,
                                                            const SubmissionPlan& plan) {
  std::map<std::string, std::optional<double>> per_step;
  double total_s = 0;
  for (const size_t index : plan.created) {
    const RunRow& row = prepared.rows[index];
    auto found = per_step.find(row.cost_class);
    if (found == per_step.end()) {
      ASSIGN_OR_RETURN(const auto seconds, store_.SecondsPerStep(row.cost_class));
      found = per_step.emplace(row.cost_class, seconds).first;
    }
    if (!found->second.has_value()) return nlohmann::json();
    total_s += *found->second * static_cast<double>(row.steps);
  }
  int slots = 0;
  for (const auto& [id, worker] : scheduler_.workers()) {
    if (worker.connected && !worker.draining) slots += worker.resources.slots;
  }
  return total_s / std::max(slots, 1);
}

std::vector<WorkerFacts> Dispatcher::Impl::WorkersNow(const Moment& now) const {
  std::vector<WorkerFacts> facts;
  for (const auto& [id, worker] : scheduler_.workers()) {
    facts.push_back({ToString(id), worker.connected, worker.draining,
                     worker.quarantined_until > now.monotonic, worker.versions, worker.resources,
                     scheduler_.Busy(id)});
  }
  return facts;
}

}  // namespace normlab::server
