#ifndef NORMLAB_CORE_JSON_H_
#define NORMLAB_CORE_JSON_H_

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"

namespace normlab {

// Strict JSON in: no comments, no NaN, no trailing text, no key twice in one object.
// InvalidArgument says the byte position and what was found. Never throws.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text);

// Strict JSON out, without spaces. Invalid UTF-8 in strings becomes U+FFFD. A non-finite number is
// a bug here (it would be written as null): use NumberOrMarker where one can occur.
std::string DumpStrict(const nlohmann::json& document);

// A finite number as itself, others as "nan", "inf", "-inf": how all documents carry them.
nlohmann::json NumberOrMarker(double value);

// Inverse of NumberOrMarker. InvalidArgument for anything else.
absl::StatusOr<double> FromNumberOrMarker(const nlohmann::json& value);

// Shortest decimal text that reads back as the same double: 0.1 → "0.1", 1.0 → "1", 1e-05 →
// "1e-05"; "nan", "inf", "-inf" for the others.
std::string ShortestDouble(double value);

// Member of an object with its type checked; InvalidArgument names the key and what was expected.
absl::StatusOr<std::string> JsonText(const nlohmann::json& object, std::string_view key);
absl::StatusOr<int64_t> JsonInt(const nlohmann::json& object, std::string_view key);
absl::StatusOr<double> JsonReal(const nlohmann::json& object, std::string_view key);
absl::StatusOr<bool> JsonBool(const nlohmann::json& object, std::string_view key);

// Reads members of an object to where they belong, all of them required; the first that is missing
// or has another type is the error.
struct JsonMember {
  std::string_view key;
  std::variant<std::string*, int64_t*, double*, bool*> to;
};
absl::Status ReadMembers(const nlohmann::json& object, std::initializer_list<JsonMember> members);

}  // namespace normlab

#endif  // NORMLAB_CORE_JSON_H_
