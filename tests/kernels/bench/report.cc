#include "tests/kernels/bench/report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace normlab::bench {

void Report::Add(const std::string& name, const Estimate& estimate, const std::string& unit) {
  rows_.push_back({name, estimate, unit});
  if (json_) return;
  std::printf("%-48s %9.3f %-6s +- %.3f\n", name.c_str(), estimate.value, unit.c_str(),
              estimate.spread);
  std::fflush(stdout);
}

void Report::Print() const {
  if (!json_) return;
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : rows_) {
    rows.push_back({{"name", row.name},
                    {"value", row.estimate.value},
                    {"unit", row.unit},
                    {"spread", row.estimate.spread}});
  }
  std::printf("%s\n", rows.dump(1).c_str());
}

}  // namespace normlab::bench
