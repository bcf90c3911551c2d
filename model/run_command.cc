#include "model/run_command.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/data_folder.h"
#include "core/envelope.h"
#include "core/file.h"
#include "core/json.h"
#include "core/status.h"
#include "model/command_line.h"
#include "model/environment.h"
#include "model/record_sink.h"
#include "model/stop_signal.h"
#include "model/train_loop.h"

namespace normlab::model {
namespace {

using nlohmann::json;

// The one that was asked for, then those before it along its line: in the same folder, then in
// those of the attempts before, which lie beside it. A damaged checkpoint costs the steps since the
// last good one, not the run.
std::vector<std::string> ResumeCandidates(const Envelope::Resume& resume) {
  std::vector<std::string> candidates = {resume.dir};
  const std::string attempt_dir = ParentDir(resume.dir);
  const auto add = [&candidates](const std::string& parent, int64_t last_step) {
    for (const std::string& dir : ListCheckpoints(parent, last_step)) candidates.push_back(dir);
  };
  add(attempt_dir, resume.step - 1);
  for (const Envelope::Resume::Ancestor& ancestor : resume.ancestors) {
    add(JoinPath(ParentDir(attempt_dir), absl::StrCat(ancestor.attempt.value())), ancestor.step);
  }
  return candidates;
}

TrainSetup SetupFromEnvelope(const Envelope& envelope) {
  TrainSetup setup;
  setup.config = envelope.config;
  setup.stop = envelope.stop;
  setup.data_dir = envelope.dataset.dir;
  setup.dataset_sha256 = envelope.dataset.sha256;
  setup.checkpoint_dir = envelope.checkpoint_dir;
  setup.threads = envelope.threads;
  setup.device = envelope.device;
  if (envelope.resume.has_value()) setup.resume_from = ResumeCandidates(*envelope.resume);
  // A worker cannot choose: its run is better begun again than lost.
  setup.may_start_over = true;
  return setup;
}

// A data folder, or the folder of one data set.
absl::StatusOr<std::string> FindDataset(const Options& options, const std::string& name) {
  if (FileExists(JoinPath(options.Text("data"), "meta.json"))) return options.Text("data");
  ASSIGN_OR_RETURN(const std::string root, DataFolderPath(options.Text("data"), ProcessEnv()));
  if (name.empty()) return absl::InvalidArgumentError("data.name: no data set is named");
  return DataFolder(root).Dataset(name);
}

absl::StatusOr<TrainSetup> SetupFromConfig(const json& document, const Options& options) {
  TrainSetup setup;
  ASSIGN_OR_RETURN(setup.config, RunConfig::FromJson(document));
  ASSIGN_OR_RETURN(setup.data_dir, FindDataset(options, setup.config.Text("data.name")));
  setup.stop.nonfinite = false;
  setup.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return setup;
}

// What whoever waits for a process would write; on its own, the trainer is that one.
ExitRecord MakeExit(TrainerExit exit, const TrainingState& state, absl::Duration wall) {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  ExitRecord record;
  record.exit_code = static_cast<int>(exit);
  record.reason = std::string(ToString(FailureOfExit(record.exit_code, 0)));
  record.max_rss_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  record.wall_s = absl::ToDoubleSeconds(wall);
  record.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  record.last_step = state.step;
  return record;
}

absl::StatusOr<TrainerExit> RunForWorker(const TrainSetup& setup, int fd) {
  EndWithParent(fd);
  FrameSink sink(fd);
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainLoop> loop,
                   TrainLoop::Create(setup, sink, SystemClock()));
  return loop->Run(StopRequested);
}

absl::StatusOr<TrainerExit> RunForPeople(TrainSetup setup, const Options& options) {
  const std::string out = options.Text("out");
  RETURN_IF_ERROR(MakeDirs(out));
  if (setup.checkpoint_dir.empty()) setup.checkpoint_dir = JoinPath(out, "checkpoints");
  const bool exists = FileExists(JoinPath(out, kAttemptLogFile));
  if (options.Has("resume")) {
    setup.resume_from = ListCheckpoints(setup.checkpoint_dir);
    if (setup.resume_from.empty()) {
      return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", setup.checkpoint_dir));
    }
  } else if (exists) {
    return absl::FailedPreconditionError(
        absl::StrCat(out, " has a run already; --resume goes on with it"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<LogSink> sink,
                   LogSink::Open(out, setup.config.Int("train.steps"), stdout));
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainLoop> loop,
                   TrainLoop::Create(setup, *sink, SystemClock()));
  const absl::Time start = SystemClock().MonotonicNow();
  ASSIGN_OR_RETURN(const TrainerExit exit, loop->Run(StopRequested));
  RETURN_IF_ERROR(sink->Write(MakeExit(exit, loop->state(), SystemClock().MonotonicNow() - start)));
  RETURN_IF_ERROR(sink->Sync());
  return exit;
}

}  // namespace

absl::StatusOr<TrainerExit> RunCommand(const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const Options options,
                   Options::Parse(arguments, {{"config", /*required=*/true},
                                              {"frames"},
                                              {"out"},
                                              {"data"},
                                              {"threads"},
                                              {"composed-norms", false, /*is_switch=*/true},
                                              {"resume", false, /*is_switch=*/true}}));
  if (options.Has("frames") == options.Has("out")) {
    return absl::InvalidArgumentError("one of --frames FD and --out DIR is needed");
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.Text("config")));
  const absl::StatusOr<json> document = ParseJson(text);
  if (!document.ok()) return AddContext(document.status(), options.Text("config"));
  TrainSetup setup;
  if (document->contains("config")) {
    ASSIGN_OR_RETURN(const Envelope envelope, EnvelopeFromJson(*document));
    setup = SetupFromEnvelope(envelope);
  } else {
    ASSIGN_OR_RETURN(setup, SetupFromConfig(*document, options));
  }
  ASSIGN_OR_RETURN(const int64_t threads, options.Int("threads", setup.threads));
  setup.threads = static_cast<int>(std::max<int64_t>(threads, 1));
  setup.composed_norms = options.Has("composed-norms");
  SetUpCompute(setup.threads, setup.config.Bool("train.deterministic"));
  if (options.Has("out")) return RunForPeople(std::move(setup), options);
  ASSIGN_OR_RETURN(const int64_t fd, options.Int("frames", -1));
  return RunForWorker(setup, static_cast<int>(fd));
}

}  // namespace normlab::model
