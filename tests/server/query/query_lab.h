#ifndef NORMLAB_TESTS_SERVER_QUERY_QUERY_LAB_H_
#define NORMLAB_TESTS_SERVER_QUERY_QUERY_LAB_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/record.h"
#include "nlohmann/json.hpp"
#include "server/query/query_api.h"
#include "server/store/store.h"
#include "tests/builders/temp_dir.h"
#include "tests/fakes/fake_clock.h"

namespace normlab::server {

// A real database, filled through the store's own writers, and the query layer on top of it. What a
// test does not say is a small healthy default. Sweep ids count from 1; so do run ids, by arm and
// then seed.
class QueryLab {
 public:
  QueryLab();

  struct Arm {
    std::string label;
    std::vector<std::string> names = {};  // default: the label
    nlohmann::json config = {};           // nested, beside norm.placement = the first name
  };
  // A sweep over norm.placement whose first arm is the baseline, with seeds 1 … `seeds` of 4 steps.
  SweepId AddSweep(const std::string& name, const std::vector<Arm>& arms, int seeds,
                   int64_t gpus = 0);
  // Another sweep over the same runs, all linked.
  SweepId AddLinkedSweep(const std::string& name, SweepId other);

  void Connect(const std::string& worker, int gpus = 0);
  // Gives the run its next attempt on the worker; running from `start_step` on. A later attempt
  // ends what the earlier one counts there.
  void Start(RunId run, const std::string& worker = "w1", int64_t start_step = 0);

  struct Result {
    std::vector<double> loss = {4, 3, 2, 1};  // of steps 1, 2 … (after the attempt's start)
    std::vector<EvalRecord> evals = {};
    std::vector<ProfileRecord> profiles = {};
    RunSummary summary = {};
    std::vector<EventRow> events = {};
    std::vector<std::string> lines = {};
  };
  // What the run's newest attempt has measured so far.
  void Measure(RunId run, const Result& result);
  // Ends the run: "done" with an outcome, or another state with a reason.
  void End(RunId run, const std::string& state, const std::string& outcome = "",
           const std::string& stopped_by = "", const std::string& reason = "");
  // Start, Measure and End of a healthy run with this final validation loss.
  void Finish(RunId run, double val_loss, const std::string& outcome = "healthy");

  absl::StatusOr<nlohmann::json> Get(const std::string& path, const Params& params = {});
  // The same for an answer that must be there; checks that it is strict JSON.
  nlohmann::json Document(const std::string& path, const Params& params = {});

  FakeClock& clock() { return clock_; }
  std::string database() const { return folder_.File("normlab.db"); }

 private:
  struct RunFacts {
    int attempts = 0;
    uint64_t seq = 0;
    int64_t start_step = 0;
  };
  void Commit(RunChanges changes);
  RunStateRow StateOf(RunId run, const std::string& state) const;

  TempDir folder_;
  FakeClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<QueryApi> query_;
  int64_t sweeps_ = 0;
  std::vector<RunFacts> runs_ = {RunFacts()};  // by run id; there is no run 0
  std::map<int64_t, std::vector<MemberRow>> members_;
  std::map<int64_t, std::vector<CellRow>> cells_;
  std::map<int64_t, std::string> specs_;
};

}  // namespace normlab::server

#endif  // NORMLAB_TESTS_SERVER_QUERY_QUERY_LAB_H_
