#ifndef NORMLAB_CORE_SWEEP_ERROR_SINK_H_
#define NORMLAB_CORE_SWEEP_ERROR_SINK_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/strings.h"
#include "core/sweep/sweep_spec.h"

namespace normlab {

// Collects the errors of one file.
class ErrorSink {
 public:
  ErrorSink(std::string_view filename, std::vector<SpecError>& errors)
      : filename_(filename), errors_(errors) {}

  template <typename... Args>
  void Add(SourcePosition position, const Args&... message) {
    errors_.push_back({filename_, position.line, position.column, Cat(message...)});
  }

  size_t count() const { return errors_.size(); }

 private:
  std::string filename_;
  std::vector<SpecError>& errors_;
};

}  // namespace normlab

#endif  // NORMLAB_CORE_SWEEP_ERROR_SINK_H_
