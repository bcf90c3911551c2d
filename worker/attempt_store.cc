#include "worker/attempt_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/file.h"
#include "core/outcome.h"
#include "core/status.h"

namespace normlab::worker {
namespace {

constexpr char kInstanceFile[] = "instance";

std::string DirName(const AttemptIdentity& identity) {
  return AttemptDirName(ToString(identity.run), identity.attempt.value(), ToString(identity.token));
}

absl::StatusOr<AttemptIdentity> ParseDirName(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '-');
  if (parts.size() != 3) return absl::InvalidArgumentError("not an attempt's folder");
  AttemptIdentity identity;
  ASSIGN_OR_RETURN(identity.run, ParseRunId(parts[0]));
  ASSIGN_OR_RETURN(identity.attempt, ParseAttemptNumber(parts[1]));
  ASSIGN_OR_RETURN(identity.token, ParseLeaseToken(parts[2]));
  return identity;
}

ExitRecord LostWithWorker(int64_t last_step) {
  ExitRecord exit;
  exit.reason = std::string(ToString(FailureKind::kLostWorker));
  exit.last_lines = {"The worker that ran this attempt ended before the trainer did."};
  exit.last_step = last_step;
  return exit;
}

}  // namespace

AttemptStore::AttemptStore(std::string dir, std::function<void()> on_record)
    : dir_(std::move(dir)), on_record_(std::move(on_record)) {}

absl::StatusOr<std::shared_ptr<HeldAttempt>> AttemptStore::Create(const AttemptIdentity& identity,
                                                                  const std::string& instance) {
  if (Find(identity.token) != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat("attempt ", DirName(identity), " is held"));
  }
  const std::string dir = JoinPath(dir_, DirName(identity));
  RETURN_IF_ERROR(MakeDirs(dir));
  RETURN_IF_ERROR(WriteFileDurably(JoinPath(dir, kInstanceFile), instance));
  ASSIGN_OR_RETURN(auto attempt, HeldAttempt::Open(dir, identity, on_record_));
  attempt->set_acked(0);
  MutexLock lock(mu_);
  held_[identity.token] = attempt;
  return attempt;
}

absl::StatusOr<std::shared_ptr<HeldAttempt>> AttemptStore::TakeUp(const std::string& name,
                                                                  const std::string& instance) {
  const std::string dir = JoinPath(dir_, name);
  const auto identity = ParseDirName(name);
  if (!identity.ok()) return std::shared_ptr<HeldAttempt>();
  const auto owner = ReadFile(JoinPath(dir, kInstanceFile));
  if (absl::IsNotFound(owner.status())) {
    // Died while making or removing it: the server was never told of it, or has confirmed it.
    RETURN_IF_ERROR(RemoveAll(dir));
    return std::shared_ptr<HeldAttempt>();
  }
  RETURN_IF_ERROR(owner);
  if (*owner != instance) return std::shared_ptr<HeldAttempt>();
  ASSIGN_OR_RETURN(auto attempt, HeldAttempt::Open(dir, *identity, on_record_));
  const HeldAttempt::Progress progress = attempt->progress();
  if (!progress.finished) RETURN_IF_ERROR(attempt->Append(LostWithWorker(progress.last_step)));
  return attempt;
}

absl::Status AttemptStore::Recover(const std::string& instance) {
  RETURN_IF_ERROR(MakeDirs(dir_));
  ASSIGN_OR_RETURN(const auto names, ListDir(dir_));
  std::map<LeaseToken, std::shared_ptr<HeldAttempt>> found;
  absl::Status first_error;
  for (const std::string& name : names) {
    auto attempt = TakeUp(name, instance);
    if (!attempt.ok()) {
      first_error.Update(AddContext(attempt.status(), absl::StrCat("Failed to take up ", name)));
    } else if (*attempt != nullptr) {
      found[(*attempt)->identity().token] = *attempt;
    }
  }
  MutexLock lock(mu_);
  held_ = std::move(found);
  return first_error;
}

absl::StatusOr<int> AttemptStore::Adopt(const std::string& neighbour, const std::string& instance) {
  ASSIGN_OR_RETURN(const auto names, ListDir(neighbour));
  int adopted = 0;
  absl::Status first_error;
  for (const std::string& name : names) {
    const std::string from = JoinPath(neighbour, name);
    const auto owner = ReadFile(JoinPath(from, kInstanceFile));
    if (!ParseDirName(name).ok() || !owner.ok() || *owner != instance) continue;
    // One step: after a crash it is in one folder or the other, and somebody's either way.
    absl::Status moved = RenameFile(from, JoinPath(dir_, name));
    auto attempt = moved.ok() ? TakeUp(name, instance) : moved;
    if (!attempt.ok()) {
      first_error.Update(AddContext(attempt.status(), absl::StrCat("Failed to take up ", name)));
      continue;
    }
    ++adopted;
    MutexLock lock(mu_);
    held_[(*attempt)->identity().token] = *attempt;
  }
  if (!first_error.ok()) return first_error;
  return adopted;
}

std::vector<std::shared_ptr<HeldAttempt>> AttemptStore::All() const {
  MutexLock lock(mu_);
  std::vector<std::shared_ptr<HeldAttempt>> all;
  for (const auto& [token, attempt] : held_) all.push_back(attempt);
  return all;
}

std::shared_ptr<HeldAttempt> AttemptStore::Find(LeaseToken token) const {
  MutexLock lock(mu_);
  const auto found = held_.find(token);
  return found == held_.end() ? nullptr : found->second;
}

absl::Status AttemptStore::Remove(LeaseToken token) {
  std::shared_ptr<HeldAttempt> attempt;
  {
    MutexLock lock(mu_);
    const auto found = held_.find(token);
    if (found == held_.end()) return absl::OkStatus();
    attempt = found->second;
    held_.erase(found);
  }
  RETURN_IF_ERROR(RemoveAll(JoinPath(attempt->dir(), kInstanceFile)));
  return RemoveAll(attempt->dir());
}

}  // namespace normlab::worker
