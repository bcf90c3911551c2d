#include "worker/subprocess_executor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/frame.h"
#include "core/json.h"
#include "core/status.h"
#include "core/subprocess.h"
#include "nlohmann/json.hpp"
#include "worker/held_attempt.h"
#include "worker/line_tail.h"

namespace normlab::worker {
namespace {

constexpr int kFramesFd = 3;
constexpr int kLookAroundMs =
    250;  // for wishes to stop, limits of time, and the exit without pidfd
constexpr size_t kReadBytes = 256 << 10;
// A trainer that prints without end must not fill the disk: the first lines tell why, the last ones
// are in the exit record, and the log says how many are missing.
constexpr int64_t kMaxLogLines = 100'000;

// One trainer process, from start to exit record.
class TrainerProcess {
 public:
  TrainerProcess(const SubprocessExecutorOptions& options, const Launch& launch,
                 const StopWish& stop, HeldAttempt& attempt, Clock& clock)
      : options_(options),
        launch_(launch),
        stop_(stop),
        attempt_(attempt),
        clock_(clock),
        started_(clock.MonotonicNow()),
        last_record_(started_),
        lines_([this](std::string_view line) { TakeLine(line); }) {}

  absl::Status Start();
  ExitRecord RunToExit();

 private:
  absl::StatusOr<std::string> WriteEnvelope() const;
  SpawnOptions Options(const std::string& envelope, int frames_fd, int output_fd) const;
  // Returns when there was something to read, the process ended, or it is time to look around.
  void WaitForNews();
  // Reads once. False when there was nothing; closes `fd` at the end of the pipe.
  bool ReadFrom(Fd& fd, bool is_frames);
  void TakeFrames(std::string_view bytes);
  void TakeLine(std::string_view line);
  void Keep(const absl::Status& status);
  void LookAround();
  void End(FailureKind reason, bool now);
  ExitRecord Describe(const ExitInfo& info) const;

  const SubprocessExecutorOptions& options_;
  const Launch& launch_;
  const StopWish& stop_;
  HeldAttempt& attempt_;
  Clock& clock_;
  const absl::Time started_;
  absl::Time last_record_;
  LineTail lines_;
  int64_t line_count_ = 0;
  FrameParser parser_;
  bool parsing_ = true;
  Fd frames_;
  Fd output_;
  Fd exited_;  // readable once the process has ended; invalid where the kernel has no pidfd
  std::unique_ptr<Subprocess> process_;
  std::string buffer_ = std::string(kReadBytes, '\0');

  FailureKind ended_for_ = FailureKind::kNone;  // why we ended it, if we did
  std::optional<absl::Time> asked_at_;          // SIGTERM was sent
  bool killed_ = false;
  std::string own_line_;  // what we have to say about the end
};

absl::StatusOr<std::string> TrainerProcess::WriteEnvelope() const {
  const std::string path = JoinPath(launch_.work_dir, "envelope.json");
  RETURN_IF_ERROR(WriteFileDurably(path, DumpStrict(ToJson(launch_.envelope)), 0600));
  return path;
}

SpawnOptions TrainerProcess::Options(const std::string& envelope, int frames_fd,
                                     int output_fd) const {
  SpawnOptions spawn;
  spawn.argv = {options_.trainer_path,  "run", "--config", envelope, "--frames",
                absl::StrCat(kFramesFd)};
  const std::string threads = absl::StrCat(launch_.envelope.threads);
  spawn.env_overrides = {
      {"OMP_NUM_THREADS", threads},
      {"MKL_NUM_THREADS", threads},
      // Threads that spin while they wait cost a busy neighbour most of its speed.
      {"OMP_WAIT_POLICY", "passive"},
      {"CUDA_VISIBLE_DEVICES", launch_.gpu}};
  spawn.inherited_fds = {{kFramesFd, frames_fd}};
  spawn.stdout_fd = output_fd;
  spawn.stderr_fd = output_fd;
  spawn.cpus = launch_.cpus;
  return spawn;
}

absl::Status TrainerProcess::Start() {
  ASSIGN_OR_RETURN(const std::string envelope, WriteEnvelope());
  ASSIGN_OR_RETURN(Pipe frames, MakePipe());
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  ASSIGN_OR_RETURN(process_,
                   Subprocess::Start(Options(envelope, frames.write.get(), output.write.get())));
  frames_ = std::move(frames.read);
  output_ = std::move(output.read);
  ::fcntl(frames_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  exited_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, process_->Pid(), 0)));
  return absl::OkStatus();
}

ExitRecord TrainerProcess::RunToExit() {
  std::optional<ExitInfo> info;
  while (!info.has_value()) {
    WaitForNews();
    LookAround();
    info = process_->TryWait();
  }
  // What it wrote last is still in the pipes. Not to their end: a process that the trainer left
  // behind may hold them open for ever.
  while (frames_.valid() && ReadFrom(frames_, true)) continue;
  while (output_.valid() && ReadFrom(output_, false)) continue;
  lines_.End();
  if (line_count_ > kMaxLogLines) {
    attempt_.Append(LostRecord{line_count_ - kMaxLogLines, "log lines over the limit"})
        .IgnoreError();
  }
  return Describe(*info);
}

void TrainerProcess::WaitForNews() {
  // poll() skips negative descriptors: a pipe at its end, or a kernel without pidfd.
  std::array<pollfd, 3> polled = {pollfd{frames_.get(), POLLIN, 0},
                                  pollfd{output_.get(), POLLIN, 0},
                                  pollfd{exited_.get(), POLLIN, 0}};
  if (::poll(polled.data(), polled.size(), kLookAroundMs) <= 0) return;
  if (polled[0].revents != 0) ReadFrom(frames_, true);
  if (polled[1].revents != 0) ReadFrom(output_, false);
}

bool TrainerProcess::ReadFrom(Fd& fd, bool is_frames) {
  const ssize_t got = ::read(fd.get(), buffer_.data(), buffer_.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  if (got <= 0) {
    fd.Reset();
    return false;
  }
  const std::string_view bytes(buffer_.data(), static_cast<size_t>(got));
  if (is_frames) {
    TakeFrames(bytes);
  } else {
    lines_.Feed(bytes);
  }
  return true;
}

void TrainerProcess::TakeFrames(std::string_view bytes) {
  if (!parsing_) return;
  parser_.Feed(bytes);
  for (;;) {
    auto record = parser_.Next();
    if (!record.ok()) return Keep(record.status());
    if (!record->has_value()) return;
    last_record_ = clock_.MonotonicNow();
    if (absl::Status status = attempt_.Append(**record); !status.ok()) return Keep(status);
  }
}

void TrainerProcess::TakeLine(std::string_view line) {
  if (++line_count_ > kMaxLogLines) return;
  attempt_.Append(LogLineRecord{std::string(line)}).IgnoreError();
}

// A record that cannot be read or kept ends the attempt: a log with a hole is worth nothing.
void TrainerProcess::Keep(const absl::Status& status) {
  parsing_ = false;
  own_line_ = absl::StrCat("Failed to keep the trainer's records: ", status.message());
  End(FailureKind::kCodeError, /*now=*/true);
}

void TrainerProcess::LookAround() {
  const absl::Time now = clock_.MonotonicNow();
  if (const StopWish::Wish wish = stop_.Get(); wish.asked) End(wish.reason, wish.now);
  if (now - started_ > launch_.time_limit) {
    if (own_line_.empty()) {
      own_line_ =
          absl::StrCat("Longer than the limit of ", absl::FormatDuration(launch_.time_limit), ".");
    }
    End(FailureKind::kTimeout, /*now=*/false);
  } else if (now - last_record_ > launch_.stall_limit) {
    if (own_line_.empty()) {
      own_line_ =
          absl::StrCat("Nothing measured for ", absl::FormatDuration(launch_.stall_limit), ".");
    }
    End(FailureKind::kTimeout, /*now=*/false);
  }
  if (asked_at_.has_value() && now - *asked_at_ > options_.grace) End(ended_for_, /*now=*/true);
}

void TrainerProcess::End(FailureKind reason, bool now) {
  if (!asked_at_.has_value()) {
    asked_at_ = clock_.MonotonicNow();
    ended_for_ = reason;
    // NotFound: it has ended by itself meanwhile.
    process_->Signal(SIGTERM).IgnoreError();
  }
  if (now && !std::exchange(killed_, true)) process_->Signal(SIGKILL).IgnoreError();
}

ExitRecord TrainerProcess::Describe(const ExitInfo& info) const {
  ExitRecord exit;
  exit.exit_code = info.exit_code;
  exit.signal = info.signal;
  // What ran to its end before the wish reached it is a result like any other.
  const bool complete =
      info.signal == 0 && FailureOfExit(info.exit_code, 0) == FailureKind::kNone && parsing_;
  if (!complete) exit.reason = std::string(ToString(ended_for_));
  exit.max_rss_bytes = info.max_rss_bytes;
  exit.wall_s = absl::ToDoubleSeconds(clock_.MonotonicNow() - started_);
  exit.cpu_s = info.user_seconds + info.system_seconds;
  exit.last_lines = lines_.LastLines();
  if (!complete && !own_line_.empty()) exit.last_lines.push_back(own_line_);
  return exit;
}

}  // namespace

SubprocessExecutor::SubprocessExecutor(SubprocessExecutorOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

ExitRecord SubprocessExecutor::Run(const Launch& launch, const StopWish& stop,
                                   HeldAttempt& attempt) {
  TrainerProcess process(options_, launch, stop, attempt, clock_);
  if (const absl::Status started = process.Start(); !started.ok()) {
    ExitRecord exit;
    exit.reason = std::string(ToString(FailureKind::kConfigError));
    exit.last_lines = {AddContext(started, "Failed to start the trainer").ToString()};
    return exit;
  }
  return process.RunToExit();
}

}  // namespace normlab::worker
