#ifndef NORMLAB_CLI_OUTPUT_H_
#define NORMLAB_CLI_OUTPUT_H_

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json_fwd.hpp"

namespace normlab::cli {

// How a verb prints its answer. kTable is for people, the others for programs.
enum class OutputMode { kTable, kJson, kJsonLines, kCsv, kMarkdown, kQuiet };

// "table", "json", "jsonl", "csv", "md", "quiet" -> mode. False when the name is none of them.
bool ParseOutputMode(std::string_view name, OutputMode* mode);

enum class Align { kLeft, kRight };

// One column: where its value lies in a row's JSON object and how people see it.
struct Column {
  std::string key;    // a field of the row, or a JSON pointer ("/diff/mean")
  std::string title;  // the head, in the table and Markdown modes
  Align align = Align::kLeft;
  int significant = 5;  // significant digits of a real number, for people only
};

// Everything a listing verb needs to print in any mode.
struct Listing {
  const nlohmann::json* document = nullptr;  // the whole answer, for kJson
  const nlohmann::json* rows = nullptr;      // an array of objects
  std::vector<Column> columns;
  std::string id_key = "id";  // what kQuiet prints
};

// Prints `listing` in `mode`. Machine modes are exact and never cut; kTable pads columns to their
// widest value and leaves the last one as long as it is.
void PrintListing(const Listing& listing, OutputMode mode, std::ostream& out);

// `document` on lines of its own. Text that is no UTF-8 (a program's log, a strange argument) is
// written with U+FFFD in its place.
void PrintDocument(const nlohmann::json& document, std::ostream& out);

// The text people see for a value: null is "-", numbers have `significant` digits, arrays are
// joined by ", ".
std::string HumanText(const nlohmann::json& value, int significant);

// The exact text for CSV: shortest round-trip numbers, nan/inf/-inf, empty for null.
std::string ExactText(const nlohmann::json& value);

// One CSV field, quoted when RFC 4180 asks for it.
std::string CsvField(std::string_view text);

// Width on a terminal: code points, so that "Δ" counts once.
size_t DisplayWidth(std::string_view utf8);

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_OUTPUT_H_
