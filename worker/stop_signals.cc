#include "worker/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "core/status.h"

namespace normlab::worker {

absl::StatusOr<std::unique_ptr<StopSignals>> StopSignals::Catch(
    std::function<void(int)> on_signal) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&wanted, signal);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr); error != 0) {
    return ErrnoStatus(error, "Failed to hold back signals");
  }
  Fd signals(::signalfd(-1, &wanted, SFD_CLOEXEC));
  Fd quit(::eventfd(0, EFD_CLOEXEC));
  if (!signals.valid() || !quit.valid()) return ErrnoStatus(errno, "Failed to watch for signals");
  return std::unique_ptr<StopSignals>(
      new StopSignals(std::move(on_signal), std::move(signals), std::move(quit)));
}

StopSignals::StopSignals(std::function<void(int)> on_signal, Fd signals, Fd quit)
    : on_signal_(std::move(on_signal)),
      signals_(std::move(signals)),
      quit_(std::move(quit)),
      thread_([this] { Watch(); }) {}

StopSignals::~StopSignals() {
  const uint64_t one = 1;
  WriteAll(quit_.get(), {reinterpret_cast<const char*>(&one), sizeof(one)}).IgnoreError();
  thread_.join();
}

void StopSignals::Watch() {
  for (int count = 0;;) {
    std::array<pollfd, 2> polled = {pollfd{signals_.get(), POLLIN, 0},
                                    pollfd{quit_.get(), POLLIN, 0}};
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[1].revents != 0) return;
    signalfd_siginfo info;
    if (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) on_signal_(++count);
  }
}

}  // namespace normlab::worker
