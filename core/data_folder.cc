#include "core/data_folder.h"

#include "core/attempt_log.h"
#include "core/file.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab {

std::string DataFolder::Database() const { return JoinPath(root_, "normlab.db"); }
std::string DataFolder::Datasets() const { return JoinPath(root_, "datasets"); }
std::string DataFolder::Dataset(std::string_view name) const { return JoinPath(Datasets(), name); }
std::string DataFolder::Checkpoints() const { return JoinPath(root_, "checkpoints"); }
std::string DataFolder::AttemptCheckpoints(RunId run, AttemptNumber attempt) const {
  return JoinPath(JoinPath(Checkpoints(), ToString(run)), ToString(attempt));
}
std::string DataFolder::Attempts() const { return JoinPath(root_, "attempts"); }
std::string DataFolder::AttemptLogDir(RunId run, AttemptNumber attempt, LeaseToken token) const {
  return JoinPath(Attempts(), AttemptDirName(ToString(run), attempt.value(), ToString(token)));
}
std::string DataFolder::Logs() const { return JoinPath(root_, "logs"); }
std::string DataFolder::Tls() const { return JoinPath(root_, "tls"); }
std::string DataFolder::ConnectFile() const { return JoinPath(root_, kConnectFileName); }
std::string DataFolder::LockFile() const { return JoinPath(root_, "LOCK"); }
std::string DataFolder::StoreIdFile() const { return JoinPath(root_, "store-id"); }

absl::StatusOr<std::string> DataFolderPath(std::string_view given, const GetEnv& env) {
  if (!given.empty()) return std::string(given);
  if (const auto data = env("NORMLAB_DATA")) return *data;
  if (const auto xdg = env("XDG_DATA_HOME")) return JoinPath(*xdg, "normlab");
  if (const auto home = env("HOME")) return JoinPath(*home, ".local/share/normlab");
  return InvalidArgument(
      "no data folder is known: neither --data nor $NORMLAB_DATA nor $HOME is given");
}

absl::StatusOr<std::string> StoreId(const DataFolder& folder, RandomSource& random) {
  const auto stored = ReadFile(folder.StoreIdFile());
  if (stored.ok()) return std::string(StripSpace(*stored));
  if (!absl::IsNotFound(stored.status())) return stored.status();
  RETURN_IF_ERROR(MakeDirs(folder.root()));
  const std::string id = random.HexToken(8);
  RETURN_IF_ERROR(WriteFileDurably(folder.StoreIdFile(), id + "\n"));
  return id;
}

}  // namespace normlab
