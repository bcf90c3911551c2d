#ifndef NORMLAB_TESTS_SERVER_DISPATCH_SERVER_LAB_H_
#define NORMLAB_TESTS_SERVER_DISPATCH_SERVER_LAB_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/record.h"
#include "server/dispatch/dispatcher.h"
#include "server/ingest/ingest.h"
#include "server/store/read_only_store.h"
#include "server/store/store.h"
#include "tests/builders/temp_dir.h"
#include "tests/fakes/fake_clock.h"

namespace normlab::server {

// A server of real parts (SQLite on disk, dispatcher, ingest) that can be stopped at any point and
// started again from its data folder, and the other side of the control call: a worker with logs.
class ServerLab {
 public:
  explicit ServerLab(uint64_t seed = 1);
  ~ServerLab();

  // Drops everything in memory and starts from the disk, as after a kill.
  void Restart();

  FakeClock& clock() { return clock_; }
  Dispatcher& dispatcher() { return *dispatcher_; }
  Ingest& ingest() { return *ingest_; }
  Store& store() { return *store_; }

  // A small sweep over placements; `base` is JSON of more base settings.
  static std::string Spec(const std::vector<std::string>& placements, int seeds = 1,
                          const std::string& base = "{data: {name: kjv}}");
  SubmitReply Submit(const std::string& spec, const std::string& key, bool fresh = false,
                     bool dry_run = false);

  // One value, one row or one column of a query.
  SqlValue Ask(const std::string& sql);
  std::string Text(const std::string& sql) { return std::get<std::string>(Ask(sql)); }
  int64_t Number(const std::string& sql) { return std::get<int64_t>(Ask(sql)); }

 private:
  const TempDir dir_;
  FakeClock clock_;
  std::unique_ptr<RandomSource> random_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Ingest> ingest_;
};

// A worker whose trainers write a fixed series: train_loss of step s is a function of the run and s
// alone, so that a resumed run equals an uninterrupted one.
class LabWorker {
 public:
  LabWorker(ServerLab& lab, std::string name, int slots = 1);

  // What its next calls say hello with.
  void set_isa(const std::string& isa) { isa_ = isa; }

  // Calls the server and starts what it is told to. False when the call failed.
  bool Call();
  // Trains each held attempt on by `steps`, with a checkpoint every 10 steps; ends those that are
  // complete. Nothing is sent yet.
  void Train(int steps, int64_t total_steps);
  // Sends up to `max_records` records of each log from where the server is. False on any error.
  bool Send(int max_records);
  // The process dies and comes back: what ran is closed as lost, what is in its logs stays.
  void Crash();

  // From now on, what it is told to resume is damaged: it takes an ancestor's next to last.
  void LoseCheckpointsOfParents() { parents_lost_ = true; }

  static double Loss(int64_t run, int64_t step);
  bool idle() const { return logs_.empty(); }

 private:
  struct Log {
    RunId run;
    AttemptNumber attempt;
    LeaseToken token;
    std::vector<std::string> records;
    int64_t step = 0;
    bool finished = false;
  };
  void Begin(const DesiredAttempt& desired);
  void End(Log& log, const std::string& reason);

  ServerLab& lab_;
  std::string name_;
  std::string isa_ = "avx2";
  int slots_;
  int starts_ = 1;
  bool parents_lost_ = false;
  std::map<LeaseToken, Log> logs_;
};

}  // namespace normlab::server

#endif  // NORMLAB_TESTS_SERVER_DISPATCH_SERVER_LAB_H_
