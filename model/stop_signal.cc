#include "model/stop_signal.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <thread>

namespace normlab::model {
namespace {

constexpr int kParentGone = 1;

std::atomic<bool> stop_requested = false;
std::atomic<pid_t> parent_pid = 0;

void RequestStop(int) { stop_requested = true; }

// The kernel sends this when the *thread* that started us ends, which may be long before its
// process does, so that we look for ourselves.
void CheckParent(int) {
  if (getppid() != parent_pid) _exit(kParentGone);
}

void Handle(int signal_number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void InstallStopSignals() {
  Handle(SIGTERM, RequestStop);
  Handle(SIGUSR1, RequestStop);
  Handle(SIGINT, RequestStop);
  signal(SIGPIPE, SIG_IGN);
}

bool StopRequested() { return stop_requested; }

void EndWithParent(int pipe_fd) {
  parent_pid = getppid();
  Handle(SIGUSR2, CheckParent);
  prctl(PR_SET_PDEATHSIG, SIGUSR2);
  std::thread([pipe_fd] {
    // Nothing is asked for: a broken pipe reports POLLERR without being asked.
    struct pollfd watched = {pipe_fd, 0, 0};
    while (poll(&watched, 1, -1) < 0 && errno == EINTR) {
    }
    if (watched.revents != 0) _exit(kParentGone);
  }).detach();
}

}  // namespace normlab::model
