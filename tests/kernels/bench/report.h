// The rows that every bench prints: {"name", "value", "unit", "spread"}.
#ifndef NORMLAB_TESTS_KERNELS_BENCH_REPORT_H_
#define NORMLAB_TESTS_KERNELS_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "tests/kernels/bench/paired_timing.h"

namespace normlab::bench {

class Report {
 public:
  // With `json` nothing is printed before Print(); else each row as it comes.
  explicit Report(bool json) : json_(json) {}

  void Add(const std::string& name, const Estimate& estimate, const std::string& unit);
  // The array of rows, with `json`.
  void Print() const;
  bool empty() const { return rows_.empty(); }

 private:
  struct Row {
    std::string name;
    Estimate estimate;
    std::string unit;
  };

  bool json_;
  std::vector<Row> rows_;
};

}  // namespace normlab::bench

#endif  // NORMLAB_TESTS_KERNELS_BENCH_REPORT_H_
