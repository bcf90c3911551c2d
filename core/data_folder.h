#ifndef NORMLAB_CORE_DATA_FOLDER_H_
#define NORMLAB_CORE_DATA_FOLDER_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "core/connect_file.h"
#include "core/ids.h"
#include "core/random.h"

namespace normlab {

// Where everything lies in a data folder. Only names: nothing is made here.
class DataFolder {
 public:
  explicit DataFolder(std::string root) : root_(std::move(root)) {}
  const std::string& root() const { return root_; }
  std::string Database() const;  // normlab.db
  std::string Datasets() const;  // datasets/
  std::string Dataset(std::string_view name) const;
  std::string Checkpoints() const;  // checkpoints/
  // checkpoints/RUN/ATTEMPT; STEP folders are in it.
  std::string AttemptCheckpoints(RunId run, AttemptNumber attempt) const;
  std::string Attempts() const;  // attempts/
  std::string AttemptLogDir(RunId run, AttemptNumber attempt, LeaseToken token) const;
  std::string Logs() const;         // logs/
  std::string Tls() const;          // tls/: a server's own CA and certificate
  std::string ConnectFile() const;  // connect.json
  std::string LockFile() const;     // LOCK
  std::string StoreIdFile() const;  // store-id

 private:
  std::string root_;
};

// `given` (--data) if not empty, else $NORMLAB_DATA, else $XDG_DATA_HOME/normlab, else
// ~/.local/share/normlab. InvalidArgument when none of them is known.
absl::StatusOr<std::string> DataFolderPath(std::string_view given, const GetEnv& env);

// The id of the folder as a place where checkpoints lie: read from its file, or made and written.
// Two workers with the same id see the same files.
absl::StatusOr<std::string> StoreId(const DataFolder& folder, RandomSource& random);

}  // namespace normlab

#endif  // NORMLAB_CORE_DATA_FOLDER_H_
