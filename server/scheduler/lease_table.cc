#include "server/scheduler/lease_table.h"

#include "core/check.h"

namespace normlab::server {

void LeaseTable::Grant(const Lease& lease) {
  const bool added = leases_.emplace(lease.token, lease).second;
  CHECK(added) << "token " << ToString(lease.token) << " granted twice";
  by_worker_[lease.worker].insert(lease.token);
  by_expiry_.emplace(lease.expires, lease.token);
}

bool LeaseTable::Extend(LeaseToken token, absl::Time expires) {
  const auto found = leases_.find(token);
  if (found == leases_.end()) return false;
  Lease& lease = found->second;
  if (expires <= lease.expires) return true;
  by_expiry_.erase({lease.expires, token});
  lease.expires = expires;
  by_expiry_.emplace(expires, token);
  return true;
}

bool LeaseTable::Release(LeaseToken token) {
  const auto found = leases_.find(token);
  if (found == leases_.end()) return false;
  by_expiry_.erase({found->second.expires, token});
  const auto holder = by_worker_.find(found->second.worker);
  holder->second.erase(token);
  if (holder->second.empty()) by_worker_.erase(holder);
  leases_.erase(found);
  return true;
}

const Lease* LeaseTable::Find(LeaseToken token) const {
  const auto found = leases_.find(token);
  return found == leases_.end() ? nullptr : &found->second;
}

std::vector<Lease> LeaseTable::HeldBy(const WorkerId& worker) const {
  std::vector<Lease> held;
  const auto tokens = by_worker_.find(worker);
  if (tokens == by_worker_.end()) return held;
  for (const LeaseToken token : tokens->second) held.push_back(leases_.at(token));
  return held;
}

std::vector<Lease> LeaseTable::TakeExpired(absl::Time now) {
  std::vector<Lease> expired;
  while (!by_expiry_.empty() && by_expiry_.begin()->first <= now) {
    expired.push_back(leases_.at(by_expiry_.begin()->second));
    Release(expired.back().token);
  }
  return expired;
}

}  // namespace normlab::server
