#include "tests/model/trainer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/file.h"
#include "core/json.h"
#include "tests/model/tiny_run.h"

namespace normlab::model {
namespace {

// Where the build puts every program.
std::string ProgramPath(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace

Envelope EnvelopeFor(const RunConfig& config, const TempDir& dir) {
  Envelope envelope;
  envelope.run = RunId(37);
  envelope.token = LeaseToken(1);
  envelope.config = config;
  envelope.dataset.name = "tiny";
  envelope.dataset.dir = TinyDataset(dir);
  envelope.checkpoint_dir = dir.File("checkpoints");
  return envelope;
}

TrainerProcess::TrainerProcess(const Envelope& envelope,
                               const std::map<std::string, std::string>& environment) {
  CHECK_OK(WriteFileDurably(dir_.File("envelope.json"), DumpStrict(ToJson(envelope))));
  int ends[2];
  CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
  const int errors = open(dir_.File("stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  SpawnOptions options;
  options.argv = {ProgramPath("normlab-trainer"), "run",      "--config",
                  dir_.File("envelope.json"),     "--frames", "3"};
  options.env_overrides = environment;
  options.env_overrides["OMP_WAIT_POLICY"] = "passive";
  options.inherited_fds = {{3, ends[1]}};
  options.stderr_fd = errors;
  auto started = Subprocess::Start(options);
  CHECK(started.ok()) << started.status().ToString();
  process_ = *std::move(started);
  close(ends[1]);
  close(errors);
  pipe_ = ends[0];
}

TrainerProcess::~TrainerProcess() { close(pipe_); }

bool TrainerProcess::Read(bool blocking) {
  struct pollfd ready = {pipe_, POLLIN, 0};
  while (poll(&ready, 1, blocking ? -1 : 0) < 0) CHECK_EQ(errno, EINTR);
  if (ready.revents == 0) return false;
  char buffer[65536];
  const ssize_t count = read(pipe_, buffer, sizeof buffer);
  CHECK(count >= 0);
  parser_.Feed({buffer, static_cast<size_t>(count)});
  return count > 0;
}

std::optional<Record> TrainerProcess::Take() {
  const auto frame = parser_.Next();
  CHECK(frame.ok()) << frame.status().ToString();
  if (!frame->has_value()) return std::nullopt;
  auto record = DecodeRecord(**frame);
  CHECK(record.ok()) << record.status().ToString();
  if (const auto* scalars = std::get_if<ScalarsRecord>(&*record)) last_step_ = scalars->step;
  return *std::move(record);
}

std::optional<Record> TrainerProcess::Next() {
  while (true) {
    if (std::optional<Record> record = Take()) return record;
    if (!Read(/*blocking=*/true)) return std::nullopt;
  }
}

int64_t TrainerProcess::HaltAndReadStep() {
  Signal(SIGSTOP);
  int status = 0;
  CHECK_EQ(waitpid(process_->Pid(), &status, WUNTRACED), process_->Pid());
  CHECK(WIFSTOPPED(status)) << Errors();
  while (Read(/*blocking=*/false)) {
  }
  while (Take().has_value()) {
  }
  return last_step_;
}

void TrainerProcess::Signal(int signal) { CHECK_OK(process_->Signal(signal)); }

ExitInfo TrainerProcess::Wait() { return process_->Wait(); }

std::string TrainerProcess::Errors() const {
  const auto text = ReadFile(dir_.File("stderr"));
  return text.ok() ? *text : "";
}

}  // namespace normlab::model
