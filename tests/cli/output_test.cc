#include "cli/output.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

std::string Printed(OutputMode mode) {
  const json document = json::parse(R"({"schema": "t.v1", "rows": [
      {"id": "r1", "loss": 2.3456789012345, "diff": {"mean": "nan"}, "norm.placement": "pre, x"},
      {"id": "r22", "loss": null, "diff": {"mean": 1}, "norm.placement": "a|b"}]})");
  Listing listing;
  listing.document = &document;
  listing.rows = &document.at("rows");
  listing.columns = {{"id", "run"},
                     {"loss", "loss", Align::kRight},
                     {"/diff/mean", "Δ mean", Align::kRight},
                     {"norm.placement", "placement"}};
  std::ostringstream out;
  PrintListing(listing, mode, out);
  return out.str();
}

TEST(OutputTest, TableAlignsByCharactersNotBytes) {
  EXPECT_EQ(Printed(OutputMode::kTable),
            "run    loss  Δ mean  placement\n"
            "r1   2.3457     nan  pre, x\n"
            "r22       -       1  a|b\n");
}

TEST(OutputTest, CsvIsExactAndQuoted) {
  EXPECT_EQ(Printed(OutputMode::kCsv),
            "id,loss,diff.mean,norm.placement\n"
            "r1,2.3456789012345,nan,\"pre, x\"\n"
            "r22,,1,a|b\n");
}

TEST(OutputTest, MarkdownEscapesBars) {
  EXPECT_EQ(Printed(OutputMode::kMarkdown),
            "| run | loss | Δ mean | placement |\n"
            "|---|---:|---:|---|\n"
            "| r1 | 2.3457 | nan | pre, x |\n"
            "| r22 | - | 1 | a\\|b |\n");
}

TEST(OutputTest, QuietPrintsIds) { EXPECT_EQ(Printed(OutputMode::kQuiet), "r1\nr22\n"); }

TEST(OutputTest, JsonIsTheWholeDocument) {
  const json document = json::parse(Printed(OutputMode::kJson));
  EXPECT_EQ(document.at("schema"), "t.v1");
  EXPECT_EQ(document.at("rows").size(), 2U);
}

TEST(OutputTest, JsonLinesAreOneRowEach) {
  std::istringstream lines(Printed(OutputMode::kJsonLines));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(json::parse(line).at("id"), "r1");
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(json::parse(line).at("id"), "r22");
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(OutputTest, TextThatIsNoUtf8IsPrintedAllTheSame) {
  std::ostringstream out;
  PrintDocument({{"text", "a\xff"}}, out);
  EXPECT_EQ(json::parse(out.str()).at("text"), "a\xef\xbf\xbd");
  const json rows = json::array({{{"id", "\xff"}, {"detail", {{"x", "\xfe"}}}}});
  Listing listing;
  listing.document = listing.rows = &rows;
  listing.columns = {{"id", "id"}, {"detail", "detail"}};
  for (const OutputMode mode : {OutputMode::kJson, OutputMode::kJsonLines, OutputMode::kCsv,
                                OutputMode::kTable, OutputMode::kMarkdown, OutputMode::kQuiet}) {
    EXPECT_NO_THROW(PrintListing(listing, mode, out));
  }
}

TEST(OutputTest, ModesByName) {
  OutputMode mode = OutputMode::kTable;
  EXPECT_TRUE(ParseOutputMode("md", &mode));
  EXPECT_EQ(mode, OutputMode::kMarkdown);
  EXPECT_FALSE(ParseOutputMode("markdown", &mode));
}

TEST(OutputTest, CsvFieldQuotesQuotesAndLineBreaks) {
  EXPECT_EQ(CsvField("say \"no\"\nnow"), "\"say \"\"no\"\"\nnow\"");
  EXPECT_EQ(CsvField("plain"), "plain");
}

}  // namespace
}  // namespace normlab::cli
