#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/file.h"
#include "core/strings.h"
#include "core/sweep/sweep_spec.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

struct BadSweep {
  std::string name;
  std::string text;
  std::vector<std::string> errors;
};

// Reads bad_sweeps.txt, whose head says how it is laid out.
std::vector<BadSweep> ReadCases(std::string_view text) {
  std::vector<BadSweep> cases;
  bool in_errors = false;
  for (std::string_view line : Split(text, '\n')) {
    if (line.starts_with("== ")) {
      cases.push_back({std::string(line.substr(3)), "", {}});
      in_errors = false;
    } else if (cases.empty() || line.empty()) {
      continue;
    } else if (line == "--") {
      in_errors = true;
    } else if (in_errors) {
      cases.back().errors.emplace_back(line);
    } else {
      cases.back().text += Cat(line, "\n");
    }
  }
  return cases;
}

std::vector<std::string> Lines(const std::vector<SpecError>& errors) {
  std::vector<std::string> lines;
  for (const SpecError& error : errors) lines.push_back(error.ToString());
  return lines;
}

TEST(BadSweeps, GiveExactlyTheErrorsOfTheTable) {
  const auto table = ReadFile("tests/core/sweep/bad_sweeps.txt");
  ASSERT_THAT(table, IsOk());
  const std::vector<BadSweep> cases = ReadCases(*table);
  EXPECT_EQ(cases.size(), 74u);
  for (const BadSweep& bad : cases) {
    SCOPED_TRACE(Cat(bad.name, "\n", bad.text));
    EXPECT_FALSE(bad.errors.empty());
    std::vector<SpecError> errors;
    EXPECT_FALSE(SweepSpec::ParseYaml(bad.text, "f.yaml", errors).has_value());
    EXPECT_THAT(Lines(errors), testing::ElementsAreArray(bad.errors));
  }
}

TEST(BadSweeps, AFileThatCannotBeReadIsOneError) {
  const TempDir dir;
  const std::string path = dir.File("none.yaml");
  std::vector<SpecError> errors;
  EXPECT_FALSE(SweepSpec::ParseFile(path, errors).has_value());
  EXPECT_THAT(Lines(errors), testing::ElementsAre(path + ": No such file or directory"));
  EXPECT_FALSE(SweepSpec::ParseFile(dir.path(), errors).has_value());
  EXPECT_THAT(Lines(errors), testing::ElementsAre(dir.path() + ": Is a directory"));
}

}  // namespace
}  // namespace normlab
