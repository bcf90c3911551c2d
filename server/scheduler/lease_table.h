#ifndef NORMLAB_SERVER_SCHEDULER_LEASE_TABLE_H_
#define NORMLAB_SERVER_SCHEDULER_LEASE_TABLE_H_

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/ids.h"

namespace normlab::server {

struct Lease {
  LeaseToken token;
  RunId run;
  AttemptNumber attempt;
  WorkerId worker;
  absl::Time expires;
  friend bool operator==(const Lease&, const Lease&) = default;
};

// Who holds which attempt until when. A token that is not in the table (never granted, released,
// expired) is stale: lookups say so by null or false and change nothing. No lock: the caller's.
class LeaseTable {
 public:
  // The token is not in the table yet.
  void Grant(const Lease& lease);
  // False for a stale token. Never shortens a lease.
  bool Extend(LeaseToken token, absl::Time expires);
  // False for a stale token.
  bool Release(LeaseToken token);
  // Null for a stale token; valid until the next change.
  const Lease* Find(LeaseToken token) const;
  // In order of tokens.
  std::vector<Lease> HeldBy(const WorkerId& worker) const;
  // Removes and returns every lease with expires <= now, oldest first.
  std::vector<Lease> TakeExpired(absl::Time now);
  size_t size() const { return leases_.size(); }

 private:
  std::map<LeaseToken, Lease> leases_;
  std::map<WorkerId, std::set<LeaseToken>> by_worker_;
  std::set<std::pair<absl::Time, LeaseToken>> by_expiry_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SCHEDULER_LEASE_TABLE_H_
