// Stands where normlab-trainer would: same arguments, same pipe, but what it does is told by the
// name of the data set in its envelope. For tests of the executor.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/envelope.h"
#include "core/file.h"
#include "core/frame.h"
#include "core/json.h"
#include "core/record.h"
#include "nlohmann/json.hpp"

namespace normlab {
namespace {

volatile sig_atomic_t asked_to_stop = 0;

class ScriptedTrainer {
 public:
  ScriptedTrainer(Envelope envelope, int frames_fd)
      : envelope_(std::move(envelope)), fd_(frames_fd), frames_(frames_fd) {}

  int Run() {
    const std::map<std::string, std::function<int()>> scripts = {
        {"done", [this] { return Done(); }},
        {"stopped", [this] { return Stopped(); }},
        {"crash", [this] { return Crash(); }},
        {"garbage", [this] { return Garbage(); }},
        {"hang", [this] { return Hang(); }},
        {"polite", [this] { return Polite(); }},
        {"stubborn", [this] { return Stubborn(); }},
        {"chatty", [] { return Chatty(); }},
        {"orphanage", [this] { return Orphanage(); }},
        {"closes_pipes", [this] { return ClosesPipes(); }},
        {"says_environment", [] { return SaysEnvironment(); }},
        {"bad_config", [] { return 10; }},
    };
    const auto script = scripts.find(envelope_.dataset.name);
    CHECK(script != scripts.end()) << "no script " << envelope_.dataset.name;
    return script->second();
  }

 private:
  void Write(const Record& record) { CHECK_OK(frames_.Write(EncodeRecord(record))); }

  void Steps(int64_t count) {
    HelloRecord hello;
    hello.threads = envelope_.threads;
    hello.device = envelope_.device;
    Write(hello);
    for (int64_t step = 1; step <= count; ++step) {
      Write(ScalarsRecord{step, {{"train_loss", 1.0 / static_cast<double>(step)}}});
    }
  }

  int Done() {
    Steps(3);
    Write(ScalarsRecord{4, {{"train_loss", std::numeric_limits<double>::quiet_NaN()}}});
    std::fprintf(stderr, "saved\n");
    std::printf("printed by a library");
    return 0;
  }

  int Stopped() {
    Steps(2);
    Write(EventRecord{2, "stopped", R"({"rule":"nonfinite"})"});
    return 3;
  }

  int Crash() {
    Steps(2);
    const std::string frame = EncodeFrame(EncodeRecord(ScalarsRecord{3, {{"train_loss", 1.0}}}));
    CHECK_OK(WriteAll(fd_, std::string_view(frame).substr(0, frame.size() / 2)));
    std::fprintf(stderr, "terminate called\n");
    std::abort();
  }

  int Garbage() {
    Steps(1);
    CHECK_OK(WriteAll(fd_, "this is no frame, and long enough to be taken for one"));
    for (;;) ::pause();
  }

  int Hang() {
    Steps(1);
    for (;;) ::pause();
  }

  int Polite() {
    ::signal(SIGTERM, [](int) { asked_to_stop = 1; });
    Steps(5);
    while (!asked_to_stop) ::poll(nullptr, 0, 1);
    Write(CheckpointRecord{5, envelope_.checkpoint_dir + "/5", "00", 1});
    return 12;
  }

  int Stubborn() {
    ::signal(SIGTERM, SIG_IGN);
    Steps(1);
    for (;;) ::pause();
  }

  static int Chatty() {
    for (int i = 1; i <= 300; ++i) std::fprintf(stderr, "line %d\n", i);
    return 1;
  }

  // Leaves a process behind that holds the pipes open.
  int Orphanage() {
    Steps(2);
    if (::fork() == 0) {
      ::alarm(10);
      ::pause();
    }
    return 0;
  }

  int ClosesPipes() {
    Steps(1);
    ::close(fd_);
    ::close(1);
    ::close(2);
    for (;;) ::pause();
  }

  static int SaysEnvironment() {
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}) {
      const char* value = std::getenv(name);
      std::fprintf(stderr, "%s=%s\n", name, value == nullptr ? "(unset)" : value);
    }
    return 0;
  }

  const Envelope envelope_;
  const int fd_;
  FrameWriter frames_;
};

int Main(int argc, char** argv) {
  CHECK_EQ(argc, 6);
  CHECK(std::strcmp(argv[1], "run") == 0 && std::strcmp(argv[2], "--config") == 0 &&
        std::strcmp(argv[4], "--frames") == 0);
  ::signal(SIGPIPE, SIG_IGN);
  const auto text = ReadFile(argv[3]);
  CHECK_OK(text.status());
  const auto document = ParseJson(*text);
  CHECK_OK(document.status());
  auto envelope = EnvelopeFromJson(*document);
  CHECK_OK(envelope.status());
  return ScriptedTrainer(*std::move(envelope), std::atoi(argv[5])).Run();
}

}  // namespace
}  // namespace normlab

int main(int argc, char** argv) { return normlab::Main(argc, argv); }
