#include "core/sweep/source_node.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/strings.h"

namespace normlab {

namespace {

// Aliases may repeat a node; more nodes than this are no sweep file but an attack or an accident.
constexpr int kMaxNodes = 100000;

SourcePosition PositionOf(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

// Turns yaml-cpp's nodes into ours and finds what YAML allows but we do not.
class Converter {
 public:
  Converter(std::string_view filename, std::vector<SpecError>& errors)
      : filename_(filename), errors_(errors) {}

  SourceNode Convert(const YAML::Node& node) {
    SourceNode result;
    result.position = PositionOf(node.Mark());
    if (++nodes_ > kMaxNodes) {
      if (nodes_ == kMaxNodes + 1) Error(result.position, "the file has too many parts");
      return result;
    }
    if (node.IsScalar()) {
      result.kind = SourceNode::Kind::kScalar;
      result.text = node.Scalar();
    } else if (node.IsSequence()) {
      result.kind = SourceNode::Kind::kList;
      for (const YAML::Node& item : node) result.items.push_back(Convert(item));
    } else if (node.IsMap()) {
      result.kind = SourceNode::Kind::kMap;
      ConvertMembers(node, result);
    }
    return result;
  }

 private:
  void ConvertMembers(const YAML::Node& node, SourceNode& result) {
    std::map<std::string, int> first_lines;
    for (const auto& member : node) {
      SourceNode key = Convert(member.first);
      if (!key.IsScalar()) {
        Error(key.position, Cat("found ", key.Describe(), " as a key; should be a name"));
        continue;
      }
      const auto [it, fresh] = first_lines.emplace(key.text, key.position.line);
      if (!fresh) {
        Error(key.position,
              Cat("'", key.text, "' is given twice; the first time in line ", it->second));
        continue;
      }
      SourceNode value = Convert(member.second);
      // An empty value has no mark of its own.
      if (value.position.line == 0) value.position = key.position;
      result.members.push_back({std::move(key), std::move(value)});
    }
  }

  void Error(SourcePosition position, std::string message) {
    errors_.push_back({filename_, position.line, position.column, std::move(message)});
  }

  std::string filename_;
  std::vector<SpecError>& errors_;
  int nodes_ = 0;
};

bool IsMarker(std::string_view line, std::string_view marker) {
  return line.starts_with(marker) && StripSpace(line).size() == marker.size();
}

// The line (from 1) at which a second document begins, or 0. The library's own way to read several
// documents, LoadAll, never returns on some damaged files; in YAML a marker in column 1 is always
// one.
int SecondDocument(std::string_view text) {
  bool begun = false;
  bool ended = false;
  int number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    const std::string_view content = StripSpace(line);
    if (content.empty() || content.front() == '#') continue;
    if (ended || (begun && IsMarker(line, "---"))) return number;
    if (IsMarker(line, "...")) ended = true;
    if (content.front() != '%') begun = true;
  }
  return 0;
}

// The first line with more than a comment on it, or 0.
int FirstContent(std::string_view text) {
  int number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    const std::string_view content = StripSpace(line);
    if (!content.empty() && content.front() != '#' && !IsMarker(line, "---")) return number;
  }
  return 0;
}

// Tabs are what people trip over, and the library's message does not say so.
std::string_view TabHint(std::string_view text, int line) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (line < 1 || static_cast<size_t>(line) > lines.size()) return "";
  const std::string_view found = lines[static_cast<size_t>(line) - 1];
  const std::string_view indent = found.substr(0, found.find_first_not_of(" \t"));
  const bool tab = indent.find('\t') != std::string_view::npos;
  return tab ? " (this line is indented with a tab; YAML wants spaces)" : "";
}

}  // namespace

std::string SourceNode::Describe() const {
  switch (kind) {
    case Kind::kScalar:
      return Cat("'", text, "'");
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
    case Kind::kNull:
      break;
  }
  return "nothing";
}

std::optional<SourceNode> ParseSource(std::string_view text, std::string_view filename,
                                      std::vector<SpecError>& errors) {
  const std::string file(filename);
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (const int line = SecondDocument(text); line > 0) {
      errors.push_back({file, line, 1, "found a second document; one file is one sweep"});
    }
    if (root.IsNull()) {
      const int line = FirstContent(text);
      errors.push_back({file, std::max(line, 1), 1,
                        line > 0 ? "not valid YAML: nothing can begin like this"
                                 : "the file is empty; a sweep needs at least base and factors"});
      return std::nullopt;
    }
    return Converter(filename, errors).Convert(root);
  } catch (const YAML::Exception& error) {
    const SourcePosition position = PositionOf(error.mark);
    errors.push_back({file, position.line, position.column,
                      Cat("not valid YAML: ", error.msg, TabHint(text, position.line))});
    return std::nullopt;
  }
}

SourceNode SourceFromJson(const nlohmann::json& document) {
  SourceNode node;
  if (document.is_null()) return node;
  if (document.is_array()) {
    node.kind = SourceNode::Kind::kList;
    for (const auto& item : document) node.items.push_back(SourceFromJson(item));
    return node;
  }
  if (document.is_object()) {
    node.kind = SourceNode::Kind::kMap;
    for (const auto& [key, value] : document.items()) {
      node.members.push_back({SourceFromJson(key), SourceFromJson(value)});
    }
    return node;
  }
  node.kind = SourceNode::Kind::kScalar;
  node.text = document.is_string()         ? document.get<std::string>()
              : document.is_number_float() ? Cat(document.get<double>())
                                           : document.dump();
  return node;
}

}  // namespace normlab
