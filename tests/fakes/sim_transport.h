#ifndef NORMLAB_TESTS_FAKES_SIM_TRANSPORT_H_
#define NORMLAB_TESTS_FAKES_SIM_TRANSPORT_H_

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "proto/control.pb.h"
#include "worker/server_link.h"

namespace normlab::worker {

// What happens to one call on its way.
enum class Fault {
  kNone,
  kDropRequest,  // the server never sees it
  kDropReply,    // the server acts, the worker hears nothing
  kRepeat,       // the server sees it twice; the worker gets the second answer
};

// A network between one worker and a server that the test writes as functions. Faults are taken
// from a script, one a call, and then none. Thread-safe; the server's functions are called one at a
// time.
class SimTransport : public ServerLink {
 public:
  using Synchronizer =
      std::function<absl::StatusOr<v1::SynchronizeReply>(const v1::SynchronizeRequest&)>;
  using Appender = std::function<absl::StatusOr<v1::AppendReply>(const v1::AppendRequest&)>;
  using Chunks = std::vector<v1::DatasetChunk>;

  Synchronizer on_synchronize = [](const v1::SynchronizeRequest&) {
    return absl::UnimplementedError("this test's server takes no Synchronize");
  };
  Appender on_append = [](const v1::AppendRequest&) {
    return absl::UnimplementedError("this test's server takes no records");
  };
  std::function<absl::StatusOr<Chunks>(const std::string& sha256)> on_fetch =
      [](const std::string&) { return absl::NotFoundError("this test's server has no data sets"); };

  void Script(std::vector<Fault> faults) {
    MutexLock lock(mu_);
    faults_.assign(faults.begin(), faults.end());
  }
  // Until it is lifted, nothing gets through.
  void SetPartition(bool cut) {
    MutexLock lock(mu_);
    cut_ = cut;
  }
  void SetInstance(std::string instance) {
    MutexLock lock(mu_);
    instance_ = std::move(instance);
  }

  std::string Instance() override {
    MutexLock lock(mu_);
    return instance_;
  }

  absl::StatusOr<v1::SynchronizeReply> Synchronize(const v1::SynchronizeRequest& request) override {
    return Carry(on_synchronize, request);
  }

  // Answers come at once here: nobody waits.
  void EndWait() override {}

  absl::StatusOr<v1::AppendReply> AppendRecords(const v1::AppendRequest& request) override {
    return Carry(on_append, request);
  }

  absl::Status FetchDataset(
      const std::string& sha256,
      absl::FunctionRef<absl::Status(const v1::DatasetChunk&)> sink) override {
    const auto chunks = Carry(on_fetch, sha256);
    if (!chunks.ok()) return chunks.status();
    for (const v1::DatasetChunk& chunk : *chunks) {
      if (absl::Status status = sink(chunk); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  template <typename Handler, typename Request>
  auto Carry(Handler& handler, const Request& request) -> decltype(handler(request)) {
    MutexLock lock(mu_);
    const Fault fault = faults_.empty() ? Fault::kNone : faults_.front();
    if (!faults_.empty()) faults_.pop_front();
    if (cut_ || fault == Fault::kDropRequest) return absl::UnavailableError("request lost");
    auto reply = handler(request);
    if (fault == Fault::kRepeat) reply = handler(request);
    if (fault == Fault::kDropReply) return absl::UnavailableError("reply lost");
    return reply;
  }

  Mutex mu_;
  std::deque<Fault> faults_ GUARDED_BY(mu_);
  bool cut_ GUARDED_BY(mu_) = false;
  std::string instance_ GUARDED_BY(mu_) = "instance-1";
};

}  // namespace normlab::worker

#endif  // NORMLAB_TESTS_FAKES_SIM_TRANSPORT_H_
