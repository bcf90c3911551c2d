#include "tests/bench/eager_peer.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "core/json.h"
#include "core/status.h"

namespace normlab::bench {

absl::StatusOr<std::unique_ptr<EagerPeer>> EagerPeer::Start(const EagerPeerOptions& options) {
  ASSIGN_OR_RETURN(const nlohmann::json config, ParseJson(options.config_json));
  ASSIGN_OR_RETURN(Pipe requests, MakePipe());
  ASSIGN_OR_RETURN(Pipe answers, MakePipe());
  SpawnOptions spawn;
  spawn.argv = {NORMLAB_BENCH_PYTHON, NORMLAB_BENCH_EAGER_SCRIPT};
  // Both sides wait alike: threads that spin would take the other's time in its turn.
  spawn.env_overrides = {{"OMP_WAIT_POLICY", "passive"},
                         {"OMP_NUM_THREADS", std::to_string(options.threads)}};
  spawn.stdin_fd = requests.read.get();
  spawn.stdout_fd = answers.write.get();
  ASSIGN_OR_RETURN(std::unique_ptr<Subprocess> process, Subprocess::Start(spawn));
  std::unique_ptr<EagerPeer> peer(
      new EagerPeer(std::move(process), std::move(requests.write), std::move(answers.read)));
  const nlohmann::json request = {{"config", config},
                                  {"weights", options.weights_path},
                                  {"data", options.data_dir},
                                  {"threads", options.threads}};
  RETURN_IF_ERROR(WriteAll(peer->to_.get(), DumpStrict(request) + "\n"));
  return peer;
}

absl::StatusOr<double> EagerPeer::Step() {
  RETURN_IF_ERROR(WriteAll(to_.get(), "step\n"));
  ASSIGN_OR_RETURN(const std::string line, ReadLine());
  ASSIGN_OR_RETURN(const nlohmann::json answer, ParseJson(line));
  return JsonReal(answer, "loss");
}

absl::StatusOr<std::string> EagerPeer::ReadLine() {
  std::string line;
  for (;;) {
    char buffer[256];
    const ssize_t count = read(from_.get(), buffer, sizeof(buffer));
    if (count <= 0) {
      const ExitInfo exit = process_->Wait();
      return absl::UnavailableError(absl::StrCat("the eager PyTorch process ended with exit code ",
                                                 exit.exit_code, ", signal ", exit.signal));
    }
    line.append(buffer, static_cast<size_t>(count));
    if (line.back() == '\n') return line;
  }
}

}  // namespace normlab::bench
