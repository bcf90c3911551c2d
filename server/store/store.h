#ifndef NORMLAB_SERVER_STORE_STORE_H_
#define NORMLAB_SERVER_STORE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/store/metric_store.h"
#include "server/store/run_store.h"

namespace normlab::server {

struct StoreOptions {
  std::string path;            // normlab.db; made when it is not there
  std::string lock_file = "";  // held while the store is open; empty: none (tests)
  // Open the database even on a network file system, where SQLite's locks cannot be relied on.
  bool allow_network_file_system = false;
  // How long a commit waits for another program that writes to the database, which none should.
  absl::Duration busy_timeout = absl::Seconds(30);
};

// The database with its one writing connection (WAL, synchronous=FULL): what is committed is on
// disk. Thread-safe: commits take turns.
//
// After a commit that failed, every later one is refused with Unavailable: what reached the disk is
// not known, and a restart finds out.
class Store {
 public:
  // Locks, checks integrity, migrates (after a copy: normlab.db.v<N>.bak). FailedPrecondition:
  // another server holds the lock, the database is newer than the program or has another schema
  // than its version says, or a network file system; DataLoss: the integrity check found damage.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const StoreOptions& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  RunStore& runs();
  MetricStore& metrics();

  // Not OK after a failed commit, and when the data folder was removed or replaced meanwhile (what
  // is written then, nobody will ever read), with the reason.
  absl::Status Health() const;

 private:
  struct Parts;
  explicit Store(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_STORE_H_
