#include "cli/where.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;
using Literal = std::variant<double, std::string>;

const json kMissing = nullptr;

enum class Operator { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

template <typename T>
bool Holds(Operator op, const T& a, const T& b) {
  switch (op) {
    case Operator::kEqual:
      return a == b;
    case Operator::kNotEqual:
      return a != b;
    case Operator::kLess:
      return a < b;
    case Operator::kLessEqual:
      return a <= b;
    case Operator::kGreater:
      return a > b;
    case Operator::kGreaterEqual:
      return a >= b;
  }
  return false;
}

std::optional<double> NumberOf(const std::string& text) {
  double value = 0;
  if (absl::SimpleAtod(text, &value)) return value;
  return std::nullopt;
}

bool CompareNumbers(Operator op, double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return op == Operator::kEqual;
  return Holds(op, a, b);
}

bool Compare(Operator op, const json& field, const Literal& literal) {
  if (field.is_null()) return false;
  if (field.is_boolean()) {
    return Compare(op, json(field.get<bool>() ? "true" : "false"), literal);
  }
  if (field.is_number()) {
    const double* number = std::get_if<double>(&literal);
    return number != nullptr ? CompareNumbers(op, field.get<double>(), *number)
                             : op == Operator::kNotEqual;
  }
  const std::string text = field.is_string() ? field.get<std::string>() : field.dump();
  if (const double* number = std::get_if<double>(&literal)) {
    // Factor levels and non-finite markers travel as text ("0.1", "nan").
    const std::optional<double> value = NumberOf(text);
    return value.has_value() ? CompareNumbers(op, *value, *number) : op == Operator::kNotEqual;
  }
  return Holds(op, text, std::get<std::string>(literal));
}

}  // namespace

class Where::Node {
 public:
  enum class Kind { kOr, kAnd, kNot, kCompare, kIsNull };
  Kind kind = Kind::kCompare;
  std::vector<std::shared_ptr<const Node>> children;
  std::string name;
  Operator op = Operator::kEqual;
  Literal literal;

  bool Matches(const json& row) const {
    switch (kind) {
      case Kind::kOr:
        for (const auto& child : children) {
          if (child->Matches(row)) return true;
        }
        return false;
      case Kind::kAnd:
        for (const auto& child : children) {
          if (!child->Matches(row)) return false;
        }
        return true;
      case Kind::kNot:
        return !children.front()->Matches(row);
      case Kind::kCompare:
        return Compare(op, FieldOfRow(row, name), literal);
      case Kind::kIsNull:
        return FieldOfRow(row, name).is_null();
    }
    return false;
  }

  void CollectNames(std::set<std::string>& names) const {
    if (!name.empty()) names.insert(name);
    for (const auto& child : children) child->CollectNames(names);
  }
};

namespace {

using NodePtr = std::shared_ptr<const Where::Node>;
using Kind = Where::Node::Kind;

// Recursive descent over the text; `position_` is always at the next unread character.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<NodePtr> ParseAll() {
    absl::StatusOr<NodePtr> node = ParseList(Kind::kOr, "or");
    if (!node.ok()) return node;
    SkipSpace();
    if (position_ != text_.size()) return Expected("'and', 'or' or the end");
    return node;
  }

 private:
  absl::Status Expected(std::string_view what) {
    SkipSpace();
    const std::string found =
        position_ == text_.size()
            ? "the end"
            : Cat("'", text_.substr(position_, text_.find(' ', position_) - position_), "'");
    return absl::InvalidArgumentError(
        Cat("--where, character ", position_ + 1, ": found ", found, ", expected ", what));
  }

  void SkipSpace() {
    while (position_ < text_.size() && absl::ascii_isspace(text_[position_])) ++position_;
  }

  static bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; }

  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (!absl::EqualsIgnoreCase(std::string(text_.substr(position_, word.size())),
                                std::string(word))) {
      return false;
    }
    const size_t end = position_ + word.size();
    if (end < text_.size() && IsNameCharacter(text_[end])) return false;
    position_ = end;
    return true;
  }

  bool TakeSymbol(std::string_view symbol) {
    SkipSpace();
    if (text_.substr(position_, symbol.size()) != symbol) return false;
    position_ += symbol.size();
    return true;
  }

  std::string TakeName() {
    SkipSpace();
    const size_t start = position_;
    while (position_ < text_.size() && IsNameCharacter(text_[position_])) ++position_;
    return std::string(text_.substr(start, position_ - start));
  }

  absl::StatusOr<NodePtr> ParseList(Kind kind, std::string_view word) {
    auto node = std::make_shared<Where::Node>();
    node->kind = kind;
    do {
      absl::StatusOr<NodePtr> child =
          kind == Kind::kOr ? ParseList(Kind::kAnd, "and") : ParseTerm();
      if (!child.ok()) return child;
      node->children.push_back(*std::move(child));
    } while (TakeWord(word));
    return node;
  }

  absl::StatusOr<NodePtr> ParseTerm() {
    if (TakeWord("not")) return Negate(ParseTerm());
    if (TakeSymbol("(")) {
      absl::StatusOr<NodePtr> inner = ParseList(Kind::kOr, "or");
      if (inner.ok() && !TakeSymbol(")")) return Expected("')'");
      return inner;
    }
    auto node = std::make_shared<Where::Node>();
    node->name = TakeName();
    if (node->name.empty()) return Expected("a column such as loss, state or placement");
    if (TakeWord("is")) return ParseIsNull(std::move(node));
    if (!TakeOperator(&node->op)) return Expected("one of = != < <= > >= or 'is null'");
    absl::StatusOr<Literal> literal = TakeLiteral();
    if (!literal.ok()) return literal.status();
    node->literal = *std::move(literal);
    return node;
  }

  static absl::StatusOr<NodePtr> Negate(absl::StatusOr<NodePtr> inner) {
    if (!inner.ok()) return inner;
    auto node = std::make_shared<Where::Node>();
    node->kind = Kind::kNot;
    node->children.push_back(*std::move(inner));
    return node;
  }

  absl::StatusOr<NodePtr> ParseIsNull(std::shared_ptr<Where::Node> node) {
    const bool negated = TakeWord("not");
    if (!TakeWord("null")) return Expected("'null'");
    node->kind = Kind::kIsNull;
    return negated ? Negate(NodePtr(std::move(node))) : NodePtr(std::move(node));
  }

  bool TakeOperator(Operator* op) {
    // Longer symbols first, so that "<=" is not read as "<".
    static constexpr std::pair<std::string_view, Operator> kOperators[] = {
        {"<=", Operator::kLessEqual}, {">=", Operator::kGreaterEqual}, {"!=", Operator::kNotEqual},
        {"<>", Operator::kNotEqual},  {"==", Operator::kEqual},        {"=", Operator::kEqual},
        {"<", Operator::kLess},       {">", Operator::kGreater}};
    for (const auto& [symbol, value] : kOperators) {
      if (TakeSymbol(symbol)) {
        *op = value;
        return true;
      }
    }
    return false;
  }

  absl::StatusOr<Literal> TakeLiteral() {
    SkipSpace();
    if (position_ < text_.size() && (text_[position_] == '\'' || text_[position_] == '"')) {
      const char quote = text_[position_];
      const size_t end = text_.find(quote, position_ + 1);
      if (end == std::string_view::npos) return Expected("a closing quote");
      std::string value(text_.substr(position_ + 1, end - position_ - 1));
      position_ = end + 1;
      return Literal(std::move(value));
    }
    const size_t start = position_;
    while (position_ < text_.size() && (IsNameCharacter(text_[position_]) ||
                                        text_[position_] == '+' || text_[position_] == '-')) {
      ++position_;
    }
    const std::string word(text_.substr(start, position_ - start));
    if (const std::optional<double> number = NumberOf(word)) return Literal(*number);
    if (absl::EqualsIgnoreCase(word, "true") || absl::EqualsIgnoreCase(word, "false")) {
      return Literal(absl::AsciiStrToLower(word));
    }
    position_ = start;
    return Expected("a number or a quoted text such as 'geo'");
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

const json& FieldOfRow(const json& row, std::string_view name) {
  const std::string key = name == "loss" ? "val_loss" : std::string(name);
  if (auto found = row.find(key); found != row.end()) return *found;
  auto factors = row.find("factors");
  if (factors == row.end() || !factors->is_object()) return kMissing;
  if (auto found = factors->find(key); found != factors->end()) return *found;
  const std::string suffix = Cat(".", key);
  for (auto item = factors->begin(); item != factors->end(); ++item) {
    if (absl::EndsWith(item.key(), suffix)) return item.value();
  }
  return kMissing;
}

absl::StatusOr<Where> Where::Parse(std::string_view text) {
  absl::StatusOr<NodePtr> root = Parser(text).ParseAll();
  if (!root.ok()) return root.status();
  return Where(*std::move(root));
}

bool Where::Matches(const json& row) const {
  const auto combinations = row.find("combinations");
  if (combinations == row.end()) return root_->Matches(row);
  return std::any_of(combinations->begin(), combinations->end(), [&](const json& factors) {
    json named = row;
    named["factors"] = factors;
    return root_->Matches(named);
  });
}

std::set<std::string> Where::Names() const {
  std::set<std::string> names;
  root_->CollectNames(names);
  return names;
}

}  // namespace normlab::cli
