#include "core/json.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/check.h"
#include "core/strings.h"

namespace normlab {

namespace {

// Watches the parse of one document for a key that occurs twice in an object: the library would
// keep the last one without a word.
class DuplicateKeys {
 public:
  bool operator()(int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) {
      open_.emplace_back();
    } else if (event == Event::object_end) {
      open_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(key).second && found_.empty()) found_ = key;
    }
    return true;
  }
  const std::string& found() const { return found_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string found_;
};

// The library's messages begin with "[json.exception.parse_error.101] "; people need the rest.
std::string WithoutTag(std::string_view what) {
  const size_t end = what.find("] ");
  return std::string(end == std::string_view::npos ? what : what.substr(end + 2));
}

absl::StatusOr<const nlohmann::json*> Member(const nlohmann::json& object, std::string_view key) {
  if (!object.is_object()) return absl::InvalidArgumentError("expected a JSON object");
  const auto it = object.find(key);
  if (it == object.end()) return InvalidArgument("'", key, "' is missing");
  return &*it;
}

template <typename T>
absl::Status Store(absl::StatusOr<T> value, T& to) {
  if (!value.ok()) return value.status();
  to = *std::move(value);
  return absl::OkStatus();
}

absl::Status WrongType(std::string_view key, std::string_view expected, const nlohmann::json& got) {
  return InvalidArgument("'", key, "' should be ", expected, ", not ", DumpStrict(got));
}

}  // namespace

absl::StatusOr<nlohmann::json> ParseJson(std::string_view text) {
  DuplicateKeys duplicates;
  try {
    nlohmann::json document = nlohmann::json::parse(text, std::ref(duplicates));
    if (!duplicates.found().empty()) {
      return InvalidArgument("not strict JSON: key '", duplicates.found(), "' occurs twice");
    }
    return document;
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("not strict JSON: ", WithoutTag(error.what()));
  }
}

std::string DumpStrict(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json NumberOrMarker(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

absl::StatusOr<double> FromNumberOrMarker(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return InvalidArgument("expected a number, \"nan\", \"inf\" or \"-inf\", not ",
                         DumpStrict(value));
}

std::string ShortestDouble(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  CHECK(error == std::errc());
  return std::string(buffer, end);
}

absl::StatusOr<std::string> JsonText(const nlohmann::json& object, std::string_view key) {
  const auto member = Member(object, key);
  if (!member.ok()) return member.status();
  if (!(*member)->is_string()) return WrongType(key, "text", **member);
  return (*member)->get<std::string>();
}

absl::StatusOr<int64_t> JsonInt(const nlohmann::json& object, std::string_view key) {
  const auto member = Member(object, key);
  if (!member.ok()) return member.status();
  const bool too_big = (*member)->is_number_unsigned() && (*member)->get<uint64_t>() > INT64_MAX;
  if (!(*member)->is_number_integer() || too_big) return WrongType(key, "a whole number", **member);
  return (*member)->get<int64_t>();
}

absl::StatusOr<double> JsonReal(const nlohmann::json& object, std::string_view key) {
  const auto member = Member(object, key);
  if (!member.ok()) return member.status();
  if (!(*member)->is_number()) return WrongType(key, "a number", **member);
  return (*member)->get<double>();
}

absl::StatusOr<bool> JsonBool(const nlohmann::json& object, std::string_view key) {
  const auto member = Member(object, key);
  if (!member.ok()) return member.status();
  if (!(*member)->is_boolean()) return WrongType(key, "true or false", **member);
  return (*member)->get<bool>();
}

absl::Status ReadMembers(const nlohmann::json& object, std::initializer_list<JsonMember> members) {
  struct Reader {
    const nlohmann::json& object;
    std::string_view key;
    absl::Status operator()(std::string* to) const { return Store(JsonText(object, key), *to); }
    absl::Status operator()(int64_t* to) const { return Store(JsonInt(object, key), *to); }
    absl::Status operator()(double* to) const { return Store(JsonReal(object, key), *to); }
    absl::Status operator()(bool* to) const { return Store(JsonBool(object, key), *to); }
  };
  for (const JsonMember& member : members) {
    const absl::Status read = std::visit(Reader{object, member.key}, member.to);
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

}  // namespace normlab
