#include "server/query/row_view.h"

#include <algorithm>

#include "core/check.h"
#include "core/json.h"
#include "nlohmann/json.hpp"

namespace normlab::server {

using nlohmann::json;

namespace {

std::string Hexadecimal(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

json ToJson(const SqlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return NumberOrMarker(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* blob = std::get_if<Blob>(&value)) return Hexadecimal(blob->bytes);
  return nullptr;
}

const SqlValue& RowView::Value(std::string_view column) const {
  const auto found = std::find(rows_.columns.begin(), rows_.columns.end(), column);
  CHECK(found != rows_.columns.end()) << "no column " << column;
  return row_[static_cast<size_t>(found - rows_.columns.begin())];
}

bool RowView::IsNull(std::string_view column) const {
  return std::holds_alternative<std::monostate>(Value(column));
}

int64_t RowView::Int(std::string_view column) const {
  const auto* integer = std::get_if<int64_t>(&Value(column));
  CHECK(integer != nullptr) << column << " is no integer";
  return *integer;
}

double RowView::Real(std::string_view column) const {
  if (const auto* integer = std::get_if<int64_t>(&Value(column))) {
    return static_cast<double>(*integer);
  }
  const auto* real = std::get_if<double>(&Value(column));
  CHECK(real != nullptr) << column << " is no number";
  return *real;
}

std::string RowView::Text(std::string_view column) const {
  const auto* text = std::get_if<std::string>(&Value(column));
  CHECK(text != nullptr) << column << " is no text";
  return *text;
}

std::optional<int64_t> RowView::MaybeInt(std::string_view column) const {
  return IsNull(column) ? std::nullopt : std::optional<int64_t>(Int(column));
}

std::optional<double> RowView::MaybeReal(std::string_view column) const {
  return IsNull(column) ? std::nullopt : std::optional<double>(Real(column));
}

json RowView::Json(std::string_view column) const { return ToJson(Value(column)); }

json RowView::JsonOrNull(std::string_view column) const {
  json value = Json(column);
  if (value.is_string() && value.get_ref<const std::string&>().empty()) return nullptr;
  return value;
}

json RowView::Parsed(std::string_view column) const {
  if (IsNull(column)) return nullptr;
  absl::StatusOr<json> parsed = ParseJson(Text(column));
  CHECK(parsed.ok()) << column << ": " << parsed.status().ToString();
  return *std::move(parsed);
}

}  // namespace normlab::server
