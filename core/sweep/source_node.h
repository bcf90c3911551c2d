#ifndef NORMLAB_CORE_SWEEP_SOURCE_NODE_H_
#define NORMLAB_CORE_SWEEP_SOURCE_NODE_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sweep/sweep_spec.h"

namespace normlab {

struct SourceMember;

// A YAML or JSON document with the place of everything in it: what the reader of sweep files walks.
struct SourceNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;                   // of a scalar, as written
  std::vector<SourceNode> items;      // of a list
  std::vector<SourceMember> members;  // of a map, in order
  SourcePosition position;

  bool IsMap() const { return kind == Kind::kMap; }
  bool IsList() const { return kind == Kind::kList; }
  bool IsScalar() const { return kind == Kind::kScalar; }
  // For messages: "'geo'", "a list", "a map", "nothing".
  std::string Describe() const;
};

struct SourceMember {
  SourceNode key;  // a scalar
  SourceNode value;
};

// Reads YAML (and so JSON). On a syntax error, a second document, a key that is no plain text or
// occurs twice, `errors` grows; nothing is returned when there is no tree to go on with.
std::optional<SourceNode> ParseSource(std::string_view text, std::string_view filename,
                                      std::vector<SpecError>& errors);

// The same tree from JSON, without places.
SourceNode SourceFromJson(const nlohmann::json& document);

}  // namespace normlab

#endif  // NORMLAB_CORE_SWEEP_SOURCE_NODE_H_
