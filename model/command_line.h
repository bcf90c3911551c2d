// Options of normlab-trainer's verbs: `--name value`, `--name=value`, or a bare `--name` for a
// switch. Small and own, because the trainer must build where only LibTorch, JSON and Abseil are.
#ifndef NORMLAB_MODEL_COMMAND_LINE_H_
#define NORMLAB_MODEL_COMMAND_LINE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace normlab::model {

struct OptionSpec {
  std::string_view name;  // without dashes
  bool required = false;
  bool is_switch = false;
};

class Options {
 public:
  // InvalidArgument names an option that is unknown, lacks its value or is missing.
  static absl::StatusOr<Options> Parse(const std::vector<std::string>& arguments,
                                       const std::vector<OptionSpec>& specs);

  bool Has(std::string_view name) const { return values_.contains(name); }
  // Empty when not given.
  std::string Text(std::string_view name) const;
  // InvalidArgument when it is not a whole number; `fallback` when not given.
  absl::StatusOr<int64_t> Int(std::string_view name, int64_t fallback) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_COMMAND_LINE_H_
