#include "server/scheduler/explain.h"

#include <algorithm>

#include "core/instruction_set.h"
#include "core/strings.h"

namespace normlab::server {
namespace {

std::string Count(int64_t n, std::string_view thing) {
  return Cat(n, " ", thing, n == 1 ? "" : "s");
}

std::string Memory(int64_t bytes) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  constexpr int64_t kGiB = int64_t{1} << 30;
  return bytes % kGiB == 0 ? Cat(bytes / kGiB, " GiB") : Cat((bytes + kMiB - 1) / kMiB, " MiB");
}

// A worker that counts at all for the question where something could run.
bool Counts(const WorkerFacts& worker) { return worker.connected && !worker.draining; }

std::string ExplainQueued(const RunFacts& run, const std::vector<WorkerFacts>& workers,
                          int trainer_math) {
  std::string nowhere = WhyNowhere(run.demand, workers, trainer_math);
  if (!nowhere.empty()) return nowhere;
  const auto able = [&](const WorkerFacts& worker) {
    return Counts(worker) && CanEverRun(run.demand, worker, trainer_math);
  };
  const auto quarantined = [](const WorkerFacts& worker) { return worker.quarantined; };
  std::vector<WorkerFacts> fit;
  std::copy_if(workers.begin(), workers.end(), std::back_inserter(fit), able);
  if (std::all_of(fit.begin(), fit.end(), quarantined)) {
    return Cat(
        "waits: every worker that could run it is set aside for a while, because runs kept "
        "failing there at once");
  }
  const bool full = std::all_of(fit.begin(), fit.end(), [](const WorkerFacts& worker) {
    return worker.quarantined || worker.busy >= worker.resources.slots;
  });
  return full ? "waits for a free slot" : "starts at the next call of a worker";
}

std::string ExplainDone(const RunFacts& run) {
  if (!run.stopped_by.empty()) return Cat("done: stopped by the rule ", run.stopped_by);
  return "done: ran to its last step";
}

std::string ExplainFailed(const RunFacts& run) {
  if (run.reason == "time_budget") return "failed: its time budget is used up";
  if (run.reason == "preemption_budget") return "failed: preempted more often than its budget";
  if (run.reason == "lost_too_often") {
    return "failed: its workers were lost many times in a row before it finished a step";
  }
  if (run.reason == "config_error") return "failed: the trainer refused its config (config_error)";
  return Cat("failed: ", run.reason, " ", Count(run.failures, "time"), ", its budget allows ",
             run.budget_failures);
}

}  // namespace

bool FitsResources(const Demand& demand, const WorkerResources& resources) {
  return resources.slots > 0 && demand.gpus <= static_cast<int64_t>(resources.gpus.size()) &&
         demand.cpus <= resources.cpus && demand.memory_bytes <= resources.memory_bytes;
}

std::string WhyUnfit(const Demand& demand, const WorkerFacts& worker, int trainer_math) {
  const WorkerVersions& versions = worker.versions;
  if (!versions.trainer_error.empty()) {
    return Cat("has no working trainer: ", versions.trainer_error);
  }
  if (versions.trainer_math != trainer_math) {
    return Cat("has a trainer of trainer_math ", versions.trainer_math, ", this server's is ",
               trainer_math);
  }
  const WorkerResources& resources = worker.resources;
  const auto gpus = static_cast<int64_t>(resources.gpus.size());
  if (demand.gpus > gpus) return gpus == 0 ? "has no GPU" : Cat("has ", Count(gpus, "GPU"));
  if (demand.cpus > resources.cpus) return Cat("has ", Count(resources.cpus, "CPU"));
  if (demand.memory_bytes > resources.memory_bytes) {
    return Cat("has ", Memory(resources.memory_bytes), " of memory");
  }
  return resources.slots > 0 ? "" : "has no slots";
}

bool CanEverRun(const Demand& demand, const WorkerFacts& worker, int trainer_math) {
  return WhyUnfit(demand, worker, trainer_math).empty();
}

std::string WhyNowhere(const Demand& demand, const std::vector<WorkerFacts>& workers,
                       int trainer_math) {
  int64_t gpus = 0;
  int64_t cpus = 0;
  int64_t memory = 0;
  const WorkerFacts* counted = nullptr;
  for (const WorkerFacts& worker : workers) {
    if (!Counts(worker)) continue;
    if (CanEverRun(demand, worker, trainer_math)) return "";
    counted = &worker;
    gpus = std::max(gpus, static_cast<int64_t>(worker.resources.gpus.size()));
    cpus = std::max(cpus, worker.resources.cpus);
    memory = std::max(memory, worker.resources.memory_bytes);
  }
  if (counted == nullptr) {
    return demand.gpus == 0 ? "no worker is connected"
                            : Cat("needs ", Count(demand.gpus, "GPU"), "; no worker is connected");
  }
  if (demand.gpus > gpus) {
    return Cat("needs ", Count(demand.gpus, "GPU"), "; no connected worker has ", demand.gpus);
  }
  if (demand.cpus > cpus) {
    return Cat("needs ", Count(demand.cpus, "CPU"), "; no connected worker has ", demand.cpus);
  }
  if (demand.memory_bytes > memory) {
    return Cat("needs ", Memory(demand.memory_bytes),
               " of memory; no connected worker has as much");
  }
  return Cat("no connected worker fits: ", counted->id, " ",
             WhyUnfit(demand, *counted, trainer_math));
}

std::string DemandWarning(const Demand& demand, const std::vector<WorkerFacts>& workers,
                          int trainer_math) {
  std::string warning = WhyNowhere(demand, workers, trainer_math);
  if (!warning.starts_with("needs ")) return warning;
  warning.insert(warning.find(';'), " per run");
  return warning;
}

std::string SlowBf16Warning(const Demand& demand, const std::vector<WorkerFacts>& workers,
                            int trainer_math) {
  if (demand.gpus > 0) return "";
  for (const WorkerFacts& worker : workers) {
    if (!Counts(worker) || !CanEverRun(demand, worker, trainer_math)) continue;
    if (worker.versions.isa.ends_with(kBf16Suffix)) continue;
    return Cat("train.precision bf16: the processor of ", worker.id, " (", worker.versions.isa,
               ") has neither avx512_bf16 nor AMX, and bf16 is about a hundred times slower than "
               "fp32 there (measured with AVX2: 0.8 against 103 GFLOP/s); fp32 or auto avoids it");
  }
  return "";
}

std::string ExplainRun(const RunFacts& run, const std::vector<WorkerFacts>& workers,
                       int trainer_math) {
  switch (run.state) {
    case RunState::kQueued:
      return ExplainQueued(run, workers, trainer_math);
    case RunState::kWaiting:
      return Cat("waits until ", run.waiting_until, " after ", run.failure, " (",
                 Count(run.failures, "failure"), ", its budget allows ", run.budget_failures, ")");
    case RunState::kRunning:
      return Cat("runs on ", run.worker, " (attempt ", run.attempts, ")");
    case RunState::kDone:
      return ExplainDone(run);
    case RunState::kFailed:
      return ExplainFailed(run);
    case RunState::kCancelled:
      return run.reason == "cancelled" ? "cancelled" : Cat("cancelled: ", run.reason);
  }
  return "";
}

}  // namespace normlab::server
