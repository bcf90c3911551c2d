#ifndef NORMLAB_TESTS_WORKER_TEMP_DIR_H_
#define NORMLAB_TESTS_WORKER_TEMP_DIR_H_

#include <stdlib.h>

#include <string>

#include "core/check.h"
#include "core/file.h"

namespace normlab {

// A folder that is there for one test.
class TempDir {
 public:
  TempDir() {
    const char* base = ::getenv("TMPDIR");
    std::string path = JoinPath(base != nullptr ? base : "/tmp", "normlab-test-XXXXXX");
    CHECK(::mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~TempDir() { RemoveAll(path_).IgnoreError(); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return JoinPath(path_, name); }

 private:
  std::string path_;
};

}  // namespace normlab

#endif  // NORMLAB_TESTS_WORKER_TEMP_DIR_H_
