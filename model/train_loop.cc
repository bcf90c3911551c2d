#include "model/train_loop.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "core/dataset.h"
#include "core/file.h"
#include "core/json.h"
#include "core/status.h"
#include "core/version.h"
#include "kernels/torch/norm_ops.h"
#include "model/environment.h"
#include "model/evaluation.h"
#include "model/init.h"
#include "model/memory_estimate.h"
#include "model/memory_limit.h"
#include "model/probes/angle.h"
#include "model/probes/attention_profile.h"
#include "model/probes/branch_profile.h"
#include "model/probes/growth_profile.h"
#include "model/probes/hidden_profile.h"
#include "model/probes/peri_bound.h"
#include "model/probes/sensitivity.h"

namespace normlab::model {
namespace {

using nlohmann::json;

Schedule MakeSchedule(const RunConfig& config) {
  const std::pair<std::string_view, ScheduleKind> kinds[] = {{"cosine", ScheduleKind::kCosine},
                                                             {"linear", ScheduleKind::kLinear},
                                                             {"constant", ScheduleKind::kConstant},
                                                             {"wsd", ScheduleKind::kWsd}};
  Schedule schedule;
  for (const auto& [name, kind] : kinds) {
    if (name == config.Text("train.schedule")) schedule.kind = kind;
  }
  schedule.lr = config.Real("train.lr");
  // A constant schedule does not warm up, so that the knob is no part of its identity.
  schedule.warmup = config.Applies("train.warmup") ? config.Int("train.warmup") : 0;
  schedule.steps = config.Int("train.steps");
  schedule.min_lr_ratio = config.Real("train.min_lr_ratio");
  return schedule;
}

AdamWOptions MakeAdamW(const RunConfig& config) {
  return {config.Real("train.beta1"), config.Real("train.beta2"), config.Real("train.adam_eps"),
          config.Real("train.weight_decay")};
}

// Name of the first parameter whose gradient is not finite; empty if none is.
std::string FirstBadGradient(const Parameters& parameters) {
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor grad = parameters.ViewOf(parameters.grads(), parameter);
    if (!grad.isfinite().all().item<bool>()) return parameter.shape.name;
  }
  return "";
}

int64_t MicroBatch(const RunConfig& config) {
  return std::min(config.Int("train.micro_batch"), config.Int("train.batch"));
}

absl::Status CheckFits(const TrainSetup& setup, const ModelSpec& spec, at::Device device) {
  const int64_t micro_batch = MicroBatch(setup.config);
  const ShardPlan plan = PlanShards(spec, micro_batch, setup.threads, device);
  const StepMemory step = {plan.SequencesAtOnce(micro_batch), plan.shards, ProbedBy(setup.config)};
  if (device.is_cpu()) return CheckMemory(spec, step, MemoryLimitBytes());
  const std::optional<kernels::CudaMemory> memory = kernels::CudaMemoryOf(device.index());
  if (!memory.has_value()) return absl::OkStatus();  // a build that cannot ask
  return CheckMemory(spec, step, memory->total_bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainLoop>> TrainLoop::Create(const TrainSetup& setup,
                                                             RecordSink& sink, Clock& clock) {
  ASSIGN_OR_RETURN(const DatasetMeta meta, ReadDatasetMeta(setup.data_dir));
  if (!setup.dataset_sha256.empty() && setup.dataset_sha256 != meta.sha256) {
    return absl::FailedPreconditionError(absl::StrCat(
        "data set ", meta.name, " has changed: it is ", meta.sha256.substr(0, 12),
        "…, and this run was submitted for ", setup.dataset_sha256.substr(0, 12), "…"));
  }
  ModelSpec spec = MakeModelSpec(setup.config, meta.vocab);
  spec.composed_norms = setup.composed_norms;
  RETURN_IF_ERROR(CheckForTraining(setup.data_dir, meta, spec.seq_len, spec.vocab));
  const auto open = [&](const char* file) {
    // Not spec.vocab: the rows that pad the table stand for no token.
    return TokenSource::Open(JoinPath(setup.data_dir, file), spec.seq_len, meta.vocab);
  };
  ASSIGN_OR_RETURN(TokenSource train, open("train.bin"));
  ASSIGN_OR_RETURN(TokenSource val, open("val.bin"));
  ASSIGN_OR_RETURN(const at::Device device, FindDevice(setup.device));
  RETURN_IF_ERROR(CheckFits(setup, spec, device));
  std::unique_ptr<TrainLoop> loop(new TrainLoop(setup, spec, device, std::move(train),
                                                std::move(val), meta.sha256, sink, clock));
  RETURN_IF_ERROR(loop->Resume());
  return loop;
}

TrainLoop::TrainLoop(const TrainSetup& setup, const ModelSpec& spec, at::Device device,
                     TokenSource train, TokenSource val, const std::string& dataset_sha256,
                     RecordSink& sink, Clock& clock)
    : setup_(setup),
      sink_(sink),
      clock_(clock),
      train_(std::move(train)),
      val_(std::move(val)),
      order_(static_cast<uint64_t>(setup.config.Int("seed.data")), train_.blocks()),
      schedule_(MakeSchedule(setup.config)),
      parameters_(spec, device),
      optimizer_(MakeAdamW(setup.config), parameters_),
      sharded_(spec, parameters_, MicroBatch(setup.config), setup.threads),
      watch_(setup.stop),
      steps_(setup.config.Int("train.steps")),
      batch_(setup.config.Int("train.batch")),
      micro_batch_(setup.config.Int("train.micro_batch")) {
  origin_ = {setup.config.Identity(dataset_sha256), DumpStrict(setup.config.ToJson()),
             InstructionSet(), setup.threads};
  InitialiseParameters(spec, parameters_);
}

absl::Status TrainLoop::Resume() {
  if (setup_.resume_from.empty()) return absl::OkStatus();
  absl::Status first_error;
  bool all_lost = true;
  for (const std::string& dir : setup_.resume_from) {
    absl::StatusOr<LoadedCheckpoint> loaded = LoadCheckpoint(dir, origin_, parameters_, optimizer_);
    if (!loaded.ok()) {
      first_error.Update(loaded.status());
      all_lost &= absl::IsDataLoss(loaded.status()) || absl::IsNotFound(loaded.status());
      fprintf(stderr, "checkpoint not usable: %s\n",
              std::string(loaded.status().message()).c_str());
      continue;
    }
    state_ = std::move(loaded->state);
    start_step_ = state_.step;
    for (int64_t step = 1; step <= state_.step; ++step) {
      const double norm = state_.grad_norm[step - 1];
      stop_rule_ = watch_.OnStep(step, state_.train_loss[step - 1], norm);
      nonfinite_seen_ |= !std::isfinite(norm) || !std::isfinite(state_.train_loss[step - 1]);
      if (ClipCoefficient(norm, setup_.config.Real("train.clip")) != 1.0) ++clipped_steps_;
    }
    NoteOrigin(*loaded);
    return absl::OkStatus();
  }
  if (all_lost && setup_.may_start_over) {
    fprintf(stderr, "no checkpoint is left: starting again from step 0\n");
    return absl::OkStatus();
  }
  return AddContext(first_error, "no checkpoint to resume from");
}

// Sums are taken in another order elsewhere: the first step from here on may differ in its last
// bits from that of an uninterrupted run, and the record says so.
void TrainLoop::NoteOrigin(const LoadedCheckpoint& loaded) {
  if (loaded.isa == origin_.isa && loaded.threads == origin_.threads) return;
  fprintf(stderr, "resumed on %s with %d threads, written on %s with %d: not bit for bit\n",
          origin_.isa.c_str(), origin_.threads, loaded.isa.c_str(), loaded.threads);
  const json detail = {{"written", {{"isa", loaded.isa}, {"threads", loaded.threads}}},
                       {"resumed", {{"isa", origin_.isa}, {"threads", origin_.threads}}}};
  not_bit_exact_ = EventRecord{start_step_ + 1, "not_bit_exact", DumpStrict(detail)};
}

absl::Status TrainLoop::SayHello() {
  HelloRecord hello;
  hello.protocol = kProtocolVersion;
  hello.build = kVersion;
  hello.trainer_math = kTrainerMath;
  hello.torch = TorchVersion();
  hello.isa = origin_.isa;
  hello.threads = setup_.threads;
  hello.device = setup_.device;
  hello.pid = getpid();
  hello.resumed_from_step = start_step_ > 0 ? start_step_ : -1;
  hello.started_at = FormatUtc(clock_.Now());
  RETURN_IF_ERROR(sink_.Write(hello));
  return not_bit_exact_.has_value() ? sink_.Write(*not_bit_exact_) : absl::OkStatus();
}

bool TrainLoop::Due(std::string_view key, int64_t step) const {
  const int64_t every = setup_.config.Int(key);
  return step == steps_ || (every > 0 && step % every == 0);
}

bool TrainLoop::ProbeDue(int64_t step) const {
  return setup_.config.Int("probe.every") > 0 && (step == 0 || Due("probe.every", step));
}

absl::StatusOr<TrainerExit> TrainLoop::Run(const std::function<bool()>& stop_requested) {
  RETURN_IF_ERROR(SayHello());
  if (start_step_ == 0) RETURN_IF_ERROR(ObserveAt(0));
  mark_ = clock_.MonotonicNow();
  for (int64_t step = start_step_ + 1; step <= steps_; ++step) {
    ASSIGN_OR_RETURN(const StepResult result, Step(step));
    RETURN_IF_ERROR(RecordStep(step, result));
    if (step_probe_) RETURN_IF_ERROR(WriteAll(step_probe_->Profiles(step)));
    RETURN_IF_ERROR(ReportZeroRows(step));
    if (stop_rule_.has_value()) {
      RETURN_IF_ERROR(
          sink_.Write(EventRecord{step, "stopped", DumpStrict({{"rule", *stop_rule_}})}));
      RETURN_IF_ERROR(sink_.Sync());
      return TrainerExit::kStoppedByPolicy;
    }
    RETURN_IF_ERROR(ObserveAt(step));
    const bool stop = stop_requested();
    if (stop || Due("checkpoint.every", step)) RETURN_IF_ERROR(CheckpointAt(step));
    if (stop && step < steps_) return TrainerExit::kPreempted;
    mark_ = clock_.MonotonicNow();
  }
  return TrainerExit::kDone;
}

absl::StatusOr<TrainLoop::StepResult> TrainLoop::Step(int64_t step) {
  StepResult result;
  result.lr = schedule_.LearningRate(step);
  step_probe_.reset();
  if (ProbeDue(step)) step_probe_.emplace(model().spec(), parameters_, sharded_.shards());
  ASSIGN_OR_RETURN(result.loss, AccumulateGradients(step));
  result.grad_norm = GradNorm(parameters_);
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) {
    RETURN_IF_ERROR(ReportNonfinite(step, result));
  }
  if (step_probe_) step_probe_->MeasureGradients();
  if (ClipGradients(parameters_, result.grad_norm, setup_.config.Real("train.clip")) != 1.0) {
    ++clipped_steps_;
  }
  optimizer_.Step(step, result.lr);
  if (step_probe_) step_probe_->MeasureUpdate(optimizer_, step, result.lr);
  return result;
}

// Sums the token losses of all micro-batches and divides once by the step's token count, so that
// parts of unequal size are weighted right. Returns the step's mean loss.
absl::StatusOr<double> TrainLoop::AccumulateGradients(int64_t step) {
  const std::vector<int64_t> blocks = order_.BlocksOfStep(step, batch_);
  const double tokens = static_cast<double>(batch_ * model().spec().seq_len);
  sharded_.ZeroGrads();
  StepProbe* const probe = step_probe_ ? &*step_probe_ : nullptr;
  at::Tensor loss_sum = at::zeros({}, parameters_.values().options().dtype(at::kDouble));
  for (int64_t first = 0; first < batch_; first += micro_batch_) {
    const int64_t last = std::min(first + micro_batch_, batch_);
    ASSIGN_OR_RETURN(const Batch batch,
                     train_.Read({blocks.begin() + first, blocks.begin() + last}));
    loss_sum += sharded_.Accumulate(batch, step, tokens, probe);
  }
  sharded_.Collect();
  return loss_sum.item<double>() / tokens;
}

absl::Status TrainLoop::RecordStep(int64_t step, const StepResult& result) {
  state_.step = step;
  state_.train_loss.push_back(result.loss);
  state_.grad_norm.push_back(result.grad_norm);
  stop_rule_ = watch_.OnStep(step, result.loss, result.grad_norm);
  const double tokens = static_cast<double>(batch_ * model().spec().seq_len);
  const double seconds = absl::ToDoubleSeconds(clock_.MonotonicNow() - mark_);
  return sink_.Write(ScalarsRecord{
      step,
      {{"train_loss", result.loss},
       {"grad_norm", result.grad_norm},
       {"lr", result.lr},
       {"tokens_per_s", seconds > 0 ? tokens / seconds : 0.0},
       {"tokens_seen", tokens * static_cast<double>(step)},
       {"clip_share", static_cast<double>(clipped_steps_) / static_cast<double>(step)}}});
}

absl::Status TrainLoop::ReportNonfinite(int64_t step, const StepResult& result) {
  if (nonfinite_seen_) return absl::OkStatus();
  nonfinite_seen_ = true;
  const json detail = {{"train_loss", NumberOrMarker(result.loss)},
                       {"grad_norm", NumberOrMarker(result.grad_norm)},
                       {"first_bad_gradient", FirstBadGradient(parameters_)}};
  return sink_.Write(EventRecord{step, "nonfinite", DumpStrict(detail)});
}

// A row of zeros has no direction to turn from: the stream passes it on, and we say so, once a
// step. Only on a sphere are rows counted; elsewhere there is nothing to wait for.
absl::Status TrainLoop::ReportZeroRows(int64_t step) {
  if (!model().spec().sphere_stream) return absl::OkStatus();
  const int64_t rows = sharded_.TakeZeroRows();
  if (rows == 0) return absl::OkStatus();
  return sink_.Write(EventRecord{step, "zero_rows", DumpStrict({{"rows", rows}})});
}

absl::Status TrainLoop::ObserveAt(int64_t step) {
  const bool evaluate = step == 0 || Due("eval.every", step);
  const bool probe = ProbeDue(step);
  if (!evaluate && !probe) return absl::OkStatus();
  EvaluationOptions options;
  options.sequences = EvaluationSequences();
  if (!evaluate) {
    options.sequences = std::min(options.sequences, ProbeSequences(model().spec().seq_len));
  }
  options.batch = micro_batch_;
  options.step = step;
  Tape tape;
  ASSIGN_OR_RETURN(const EvalRecord eval, Evaluate(sharded_, val_, options, &tape));
  if (evaluate) {
    RETURN_IF_ERROR(sink_.Write(eval));
    const PeriBound bound = CheckPeriBound(model(), tape, step);
    RETURN_IF_ERROR(WriteAll(bound.profiles));
    RETURN_IF_ERROR(WriteAll(GrowthProfiles(tape, step)));
    for (const EventRecord& violation : bound.violations) RETURN_IF_ERROR(sink_.Write(violation));
    if (setup_.config.Bool("probe.sensitivity")) {
      RETURN_IF_ERROR(WriteAll(SensitivityProfiles(model().spec(), parameters_, tape, step)));
    }
  }
  if (probe) {
    RETURN_IF_ERROR(WriteAll(HiddenProfiles(tape, step)));
    RETURN_IF_ERROR(WriteAll(AngleProfiles(tape, step)));
    RETURN_IF_ERROR(WriteAll(BranchProfiles(tape, step)));
    RETURN_IF_ERROR(WriteAll(SphereProfiles(model(), tape, step)));
    RETURN_IF_ERROR(WriteAll(AttentionProfiles(tape, step)));
  }
  return absl::OkStatus();
}

absl::Status TrainLoop::WriteAll(const std::vector<ProfileRecord>& profiles) {
  for (const ProfileRecord& profile : profiles) RETURN_IF_ERROR(sink_.Write(profile));
  return absl::OkStatus();
}

int64_t TrainLoop::EvaluationSequences() const {
  int64_t sequences = val_.blocks();
  const int64_t tokens = setup_.config.Int("data.val_tokens");
  if (tokens > 0) sequences = std::min(sequences, (tokens - 1) / model().spec().seq_len);
  const int64_t batches = setup_.config.Int("eval.batches");
  if (batches > 0) sequences = std::min(sequences, batches * kEvalBatchSequences);
  return std::max<int64_t>(sequences, 1);
}

absl::Status TrainLoop::CheckpointAt(int64_t step) {
  ASSIGN_OR_RETURN(const CheckpointRecord record, WriteCheckpoint(setup_.checkpoint_dir, origin_,
                                                                  state_, parameters_, optimizer_));
  RETURN_IF_ERROR(sink_.Write(record));
  RETURN_IF_ERROR(sink_.Sync());
  return AddContext(PruneCheckpoints(setup_.checkpoint_dir, setup_.config.Int("checkpoint.keep")),
                    absl::StrCat("after the checkpoint of step ", step));
}

}  // namespace normlab::model
