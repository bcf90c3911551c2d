#include "server/dispatch/submission.h"

#include <utility>
#include <variant>

#include "core/check.h"
#include "core/file.h"
#include "core/json.h"
#include "core/knob.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/dispatch/linking.h"

namespace normlab::server {
namespace {

std::map<std::string, DatasetMeta> ReadDatasets(const std::string& datasets_dir) {
  std::map<std::string, DatasetMeta> datasets;
  const auto names = ListDir(datasets_dir);
  if (!names.ok()) return datasets;  // none was prepared yet
  for (const std::string& name : *names) {
    // A folder that holds no data set is not one; `data check` says what is wrong with it.
    auto meta = ReadDatasetMeta(JoinPath(datasets_dir, name));
    if (meta.ok()) datasets.emplace(name, *std::move(meta));
  }
  return datasets;
}

absl::Status CheckSpec(const SweepSpec& spec) {
  std::vector<std::string> lines;
  for (const SpecError& error : spec.Check("sweep")) lines.push_back(error.ToString());
  if (lines.empty()) return absl::OkStatus();
  return InvalidArgument(Join(lines, "\n"));
}

absl::Status CheckDatasets(const Expansion& expansion,
                           const std::map<std::string, DatasetMeta>& datasets) {
  if (expansion.missing_datasets.empty()) return absl::OkStatus();
  const std::string& name = expansion.missing_datasets.front();
  std::vector<std::string> known;
  for (const auto& [each, meta] : datasets) known.push_back(each);
  const std::string cure = Cat("; make it with `normlab data prepare ", name, " FILE…`");
  if (known.empty()) return InvalidArgument("there is no data set '", name, "' yet", cure);
  return InvalidArgument("there is no data set '", name, "'; there is: ", Join(known, ", "), cure);
}

// What a run would refuse at its start is refused here, where somebody reads it.
absl::Status CheckMembers(const Expansion& expansion,
                          const std::map<std::string, DatasetMeta>& datasets) {
  for (const Member& member : expansion.members) {
    const DatasetMeta& meta = datasets.at(member.dataset_name);
    const absl::Status status =
        CheckFits(meta, member.config.Int("model.seq_len"), member.config.VocabFor(meta.vocab));
    if (!status.ok()) return InvalidArgument(status.message());
  }
  return absl::OkStatus();
}

// A level with its type: 0.1 is a number, "geo" is text.
nlohmann::json LevelOf(const std::string& key, const std::string& text) {
  const auto value = ParseValue(*FindKnob(key), text);
  CHECK(value.ok()) << key << ": " << value.status().ToString();
  return std::visit([](const auto& typed) { return nlohmann::json(typed); }, *value);
}

// Factor → level with its type.
nlohmann::json FactorsJson(const Cell::Factors& factors) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [key, text] : factors) object[key] = LevelOf(key, text);
  return object;
}

nlohmann::json CombinationsOf(const Cell& cell) {
  nlohmann::json combinations = nlohmann::json::array();
  for (const Cell::Factors& factors : cell.combinations) {
    combinations.push_back(FactorsJson(factors));
  }
  return combinations;
}

const Cell& CellOf(const PreparedSweep& sweep, CellNumber number) {
  return sweep.expansion.cells[static_cast<size_t>(number.value()) - 1];
}

// Runs of one class take about the same time per step.
std::string CostClass(const RunConfig& config, const Resources& resources) {
  std::vector<std::string> parts;
  for (const char* key : {"model.layers", "model.width", "model.ffn", "model.seq_len",
                          "model.vocab", "train.batch", "train.precision"}) {
    parts.push_back(config.ValueText(key));
  }
  parts.push_back(Cat(resources.gpus));
  return Join(parts, "/");
}

RunRow RunRowOf(const PreparedSweep& sweep, const Member& member) {
  const SweepSpec& spec = sweep.spec;
  RunRow row;
  row.identity = member.identity;
  row.canonical = member.canonical_json;
  row.config = DumpStrict(member.config.ToJson());
  row.config_flat = DumpStrict(member.config.ToFlatJson());
  row.factors = "{}";
  row.label = CellOf(sweep, member.cell).label;
  row.observations = DumpStrict(member.config.Observations());
  row.stop = DumpStrict(ToJson(spec.stop));
  row.data_name = member.dataset_name;
  row.data_sha256 = member.dataset_sha256;
  row.seed = member.seed;
  row.steps = member.config.Int("train.steps");
  row.warmup = member.config.Applies("train.warmup") ? member.config.Int("train.warmup") : 0;
  row.cost_class = CostClass(member.config, spec.resources);
  row.needs.gpus = spec.resources.gpus;
  row.needs.cpus = spec.resources.cpus;
  row.needs.memory_bytes = spec.resources.memory_bytes;
  row.needs.budget_failures = spec.budget.failures;
  row.needs.budget_preemptions = spec.budget.preemptions;
  row.needs.budget_time_s = spec.budget.time_s;
  row.needs.budget_stall_s = spec.budget.stall_s;
  return row;
}

CellRow CellRowOf(const Cell& cell) {
  return {SweepId(),
          cell.number,
          cell.label,
          DumpStrict(nlohmann::json(cell.names)),
          DumpStrict(FactorsJson(cell.factors())),
          DumpStrict(CombinationsOf(cell)),
          cell.baseline};
}

}  // namespace

absl::StatusOr<PreparedSweep> PrepareSweep(const std::string& spec_json,
                                           const std::string& datasets_dir) {
  ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(spec_json));
  PreparedSweep sweep;
  ASSIGN_OR_RETURN(sweep.spec, SweepSpec::FromJson(document));
  RETURN_IF_ERROR(CheckSpec(sweep.spec));
  auto datasets = ReadDatasets(datasets_dir);
  DatasetCatalog catalog;
  for (const auto& [name, meta] : datasets) {
    catalog.emplace(name, DatasetFacts{name, meta.sha256, meta.vocab});
  }
  sweep.expansion = Expand(sweep.spec, catalog);
  RETURN_IF_ERROR(CheckDatasets(sweep.expansion, datasets));
  RETURN_IF_ERROR(CheckMembers(sweep.expansion, datasets));
  for (const Member& member : sweep.expansion.members) {
    sweep.datasets.emplace(member.dataset_name, datasets.at(member.dataset_name));
    sweep.rows.push_back(RunRowOf(sweep, member));
  }
  for (const Cell& cell : sweep.expansion.cells) sweep.cells.push_back(CellRowOf(cell));
  sweep.spec_json = DumpStrict(sweep.spec.ToJson());
  return sweep;
}

absl::StatusOr<SubmissionPlan> PlanSubmission(const PreparedSweep& sweep, RunId next_run,
                                              bool fresh, RunStore& store) {
  SubmissionPlan plan;
  const nlohmann::json stop = ToJson(sweep.spec.stop);
  std::map<std::string, MemberPlan> by_identity;
  for (size_t i = 0; i < sweep.expansion.members.size(); ++i) {
    const Member& member = sweep.expansion.members[i];
    const auto known = by_identity.find(member.identity);
    if (known != by_identity.end()) {
      plan.members.push_back(known->second);
      continue;
    }
    MemberPlan planned;
    if (!fresh) {
      ASSIGN_OR_RETURN(const auto candidates, store.FindRuns(member.identity));
      if (!candidates.empty()) {
        ASSIGN_OR_RETURN(const nlohmann::json asked, ParseJson(sweep.rows[i].observations));
        planned.run = FindLinkable(candidates, asked, stop);
      }
    }
    planned.linked = static_cast<bool>(planned.run);
    if (planned.linked) {
      plan.linked.push_back(planned.run);
    } else {
      planned.run = next_run;
      next_run = RunId(next_run.value() + 1);
      plan.created.push_back(i);
    }
    by_identity.emplace(member.identity, planned);
    plan.members.push_back(planned);
  }
  return plan;
}

Run RunOf(const PreparedSweep& sweep, RunId id) {
  const SweepSpec& spec = sweep.spec;
  Run run;
  run.id = id;
  run.demand = {spec.resources.gpus, spec.resources.cpus, spec.resources.memory_bytes};
  run.budget = {spec.budget.failures, spec.budget.preemptions, spec.budget.time_s,
                spec.budget.stall_s};
  return run;
}

std::vector<RunRow> TakeRunRows(PreparedSweep& sweep, const SubmissionPlan& plan) {
  std::vector<RunRow> rows;
  for (const size_t member : plan.created) {
    rows.push_back(std::move(sweep.rows[member]));
    rows.back().id = plan.members[member].run;
  }
  return rows;
}

std::vector<CellRow> TakeCellRows(PreparedSweep& sweep, SweepId id) {
  for (CellRow& row : sweep.cells) row.sweep = id;
  return std::move(sweep.cells);
}

std::vector<MemberRow> MemberRowsOf(const PreparedSweep& sweep, const SubmissionPlan& plan,
                                    SweepId id) {
  std::vector<MemberRow> rows;
  for (size_t i = 0; i < plan.members.size(); ++i) {
    const Member& member = sweep.expansion.members[i];
    rows.push_back({id, member.cell, member.seed, plan.members[i].run, plan.members[i].linked,
                    sweep.cells[static_cast<size_t>(member.cell.value()) - 1].factors});
  }
  return rows;
}

std::vector<DatasetRow> DatasetRowsOf(const PreparedSweep& sweep) {
  std::vector<DatasetRow> rows;
  for (const auto& [name, meta] : sweep.datasets) {
    rows.push_back({meta.sha256, name, meta.vocab, meta.train_tokens, meta.val_tokens,
                    meta.tokenizer, meta.unigram_entropy});
  }
  return rows;
}

std::vector<std::string> MergeTexts(const Expansion& expansion) {
  std::vector<std::string> texts;
  for (const Merge& merge : expansion.merges) {
    const std::string names = Join(merge.names, " = ");
    if (merge.names.size() > 1 || merge.ignored_factors.empty()) {
      texts.push_back(names);
    } else {
      texts.push_back(Cat(names, " (", Join(merge.ignored_factors, ", "),
                          merge.ignored_factors.size() == 1 ? " does" : " do", " not apply)"));
    }
  }
  return texts;
}

}  // namespace normlab::server
