// A process of eager PyTorch that trains the same model as a TrainLoop, one step each time it is
// asked (torch_eager.py).
#ifndef NORMLAB_TESTS_BENCH_EAGER_PEER_H_
#define NORMLAB_TESTS_BENCH_EAGER_PEER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/file.h"
#include "core/subprocess.h"

namespace normlab::bench {

struct EagerPeerOptions {
  std::string config_json;   // every knob, by dotted key
  std::string weights_path;  // safetensors
  std::string data_dir;
  int threads = 1;
};

class EagerPeer {
 public:
  // Returns when the peer has been started; what goes wrong in it is an error of the first Step.
  static absl::StatusOr<std::unique_ptr<EagerPeer>> Start(const EagerPeerOptions& options);

  // Trains one step; its loss.
  absl::StatusOr<double> Step();

 private:
  EagerPeer(std::unique_ptr<Subprocess> process, Fd to, Fd from)
      : process_(std::move(process)), to_(std::move(to)), from_(std::move(from)) {}
  absl::StatusOr<std::string> ReadLine();

  std::unique_ptr<Subprocess> process_;
  Fd to_, from_;
};

}  // namespace normlab::bench

#endif  // NORMLAB_TESTS_BENCH_EAGER_PEER_H_
