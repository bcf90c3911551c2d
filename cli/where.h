#ifndef NORMLAB_CLI_WHERE_H_
#define NORMLAB_CLI_WHERE_H_

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace normlab::cli {

// The value a name in `--where` or `--sort` stands for in one row of a listing: a field of the row
// ("state"), a full factor key ("norm.placement"), the last part of one ("placement"), or "loss"
// for val_loss. Null when the row has no such thing.
const nlohmann::json& FieldOfRow(const nlohmann::json& row, std::string_view name);

// A filter over rows: "loss < 3 and placement = 'geo'".
//
//   expression := conjunction ("or" conjunction)*      conjunction := term ("and" term)*
//   term := "not" term | "(" expression ")" | name operator literal | name "is" ["not"] "null"
//   operator := = | != | <> | < | <= | > | >=          literal := number | 'text' | nan | inf |
//   -inf
//
// Comparisons with a missing value are false, as in SQL; NaN equals only nan and orders with
// nothing. Immutable; safe to share between threads.
class Where {
 public:
  class Node;

  // InvalidArgument names the place in the text, what was found and what would be right.
  static absl::StatusOr<Where> Parse(std::string_view text);

  // A row of a merged cell ("combinations": the factors of each of its names) matches when it does
  // under one of its names.
  bool Matches(const nlohmann::json& row) const;

  // The columns that it asks for.
  std::set<std::string> Names() const;

 private:
  explicit Where(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_WHERE_H_
