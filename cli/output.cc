#include "cli/output.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "core/json.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

const json kNull = nullptr;

// A key with dots ("norm.placement") is a plain member; only a leading slash makes it a pointer.
const json& Lookup(const json& row, const std::string& key) {
  if (!key.empty() && key[0] == '/') {
    const json::json_pointer pointer(key);
    return row.contains(pointer) ? row.at(pointer) : kNull;
  }
  auto found = row.find(key);
  return found == row.end() ? kNull : *found;
}

std::string MachineName(const Column& column) {
  if (column.key.empty() || column.key[0] != '/') return column.key;
  return absl::StrReplaceAll(column.key.substr(1), {{"/", "."}});
}

std::string Pad(const std::string& text, size_t width, Align align) {
  const size_t used = DisplayWidth(text);
  const std::string fill(width > used ? width - used : 0, ' ');
  return align == Align::kRight ? fill + text : text + fill;
}

using TextGrid = std::vector<std::vector<std::string>>;

TextGrid HumanGrid(const Listing& listing) {
  TextGrid grid;
  std::vector<std::string> head;
  for (const Column& column : listing.columns) head.push_back(column.title);
  grid.push_back(std::move(head));
  for (const json& row : *listing.rows) {
    std::vector<std::string> line;
    for (const Column& column : listing.columns) {
      line.push_back(HumanText(Lookup(row, column.key), column.significant));
    }
    grid.push_back(std::move(line));
  }
  return grid;
}

std::vector<size_t> Widths(const TextGrid& grid) {
  std::vector<size_t> widths(grid.front().size(), 0);
  for (const auto& line : grid) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(line[i]));
    }
  }
  return widths;
}

void PrintTable(const Listing& listing, std::ostream& out) {
  const TextGrid grid = HumanGrid(listing);
  const std::vector<size_t> widths = Widths(grid);
  for (const auto& line : grid) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
      if (i > 0) text += "  ";
      text += Pad(line[i], widths[i], listing.columns[i].align);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << "\n";
  }
}

void PrintMarkdown(const Listing& listing, std::ostream& out) {
  const TextGrid grid = HumanGrid(listing);
  for (size_t row = 0; row < grid.size(); ++row) {
    out << "|";
    for (const std::string& text : grid[row]) {
      out << " " << absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}}) << " |";
    }
    out << "\n";
    if (row > 0) continue;
    out << "|";
    for (const Column& column : listing.columns) {
      out << (column.align == Align::kRight ? "---:|" : "---|");
    }
    out << "\n";
  }
}

void PrintCsv(const Listing& listing, std::ostream& out) {
  std::vector<std::string> fields;
  for (const Column& column : listing.columns) fields.push_back(CsvField(MachineName(column)));
  out << Join(fields, ",") << "\n";
  for (const json& row : *listing.rows) {
    fields.clear();
    for (const Column& column : listing.columns) {
      fields.push_back(CsvField(ExactText(Lookup(row, column.key))));
    }
    out << Join(fields, ",") << "\n";
  }
}

std::string JoinElements(const json& array, int significant) {
  std::vector<std::string> parts;
  for (const json& element : array) {
    parts.push_back(significant > 0 ? HumanText(element, significant) : ExactText(element));
  }
  return Join(parts, significant > 0 ? ", " : ";");
}

}  // namespace

bool ParseOutputMode(std::string_view name, OutputMode* mode) {
  static constexpr std::pair<std::string_view, OutputMode> kModes[] = {
      {"table", OutputMode::kTable},     {"json", OutputMode::kJson},
      {"jsonl", OutputMode::kJsonLines}, {"csv", OutputMode::kCsv},
      {"md", OutputMode::kMarkdown},     {"quiet", OutputMode::kQuiet}};
  for (const auto& [known, value] : kModes) {
    if (known == name) {
      *mode = value;
      return true;
    }
  }
  return false;
}

std::string HumanText(const json& value, int significant) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return absl::StrFormat("%.*g", significant, value.get<double>());
  if (value.is_array()) return JoinElements(value, significant);
  if (value.is_object() && value.empty()) return "-";
  if (value.is_object()) {
    std::vector<std::string> parts;
    for (const auto& [key, element] : value.items()) {
      parts.push_back(Cat(key, "=", HumanText(element, significant)));
    }
    return Join(parts, " ");
  }
  return DumpStrict(value);
}

std::string ExactText(const json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return JoinElements(value, 0);
  return DumpStrict(value);
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  return Cat("\"", absl::StrReplaceAll(std::string(text), {{"\"", "\"\""}}), "\"");
}

size_t DisplayWidth(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

void PrintDocument(const json& document, std::ostream& out) {
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

void PrintListing(const Listing& listing, OutputMode mode, std::ostream& out) {
  switch (mode) {
    case OutputMode::kTable:
      return PrintTable(listing, out);
    case OutputMode::kMarkdown:
      return PrintMarkdown(listing, out);
    case OutputMode::kCsv:
      return PrintCsv(listing, out);
    case OutputMode::kJson:
      PrintDocument(*listing.document, out);
      return;
    case OutputMode::kJsonLines:
      for (const json& row : *listing.rows) out << DumpStrict(row) << "\n";
      return;
    case OutputMode::kQuiet:
      for (const json& row : *listing.rows) {
        out << ExactText(Lookup(row, listing.id_key)) << "\n";
      }
      return;
  }
}

}  // namespace normlab::cli
