#ifndef NORMLAB_TESTS_BUILDERS_TEMP_DIR_H_
#define NORMLAB_TESTS_BUILDERS_TEMP_DIR_H_

#include <stdlib.h>

#include <string>

#include "core/check.h"
#include "core/file.h"

namespace normlab {

// A folder of the test's own, gone with all that is in it at the end.
class TempDir {
 public:
  TempDir() {
    const char* const base = getenv("TMPDIR");
    path_ = JoinPath(base != nullptr ? base : "/tmp", "normlab-test-XXXXXX");
    CHECK(mkdtemp(path_.data()) != nullptr) << path_;
  }
  ~TempDir() { RemoveAll(path_).IgnoreError(); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return JoinPath(path_, name); }

 private:
  std::string path_;
};

}  // namespace normlab

#endif  // NORMLAB_TESTS_BUILDERS_TEMP_DIR_H_
