#include "model/command_line.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace normlab::model {

absl::StatusOr<Options> Options::Parse(const std::vector<std::string>& arguments,
                                       const std::vector<OptionSpec>& specs) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.rfind("--", 0) != 0) {
      return absl::InvalidArgumentError(absl::StrCat("unexpected argument \"", argument, "\""));
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const auto spec = std::find_if(specs.begin(), specs.end(),
                                   [&](const OptionSpec& s) { return s.name == name; });
    if (spec == specs.end()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no option --", name));
    }
    if (spec->is_switch) {
      options.values_[name] = "";
    } else if (equals != std::string::npos) {
      options.values_[name] = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      options.values_[name] = arguments[++i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value"));
    }
  }
  for (const OptionSpec& spec : specs) {
    if (spec.required && !options.Has(spec.name)) {
      return absl::InvalidArgumentError(absl::StrCat("--", std::string(spec.name), " is missing"));
    }
  }
  return options;
}

std::string Options::Text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

absl::StatusOr<int64_t> Options::Int(std::string_view name, int64_t fallback) const {
  if (!Has(name)) return fallback;
  int64_t value = 0;
  if (!absl::SimpleAtoi(Text(name), &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", std::string(name), " ", Text(name), " is not a whole number"));
  }
  return value;
}

}  // namespace normlab::model
