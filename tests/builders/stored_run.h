#ifndef NORMLAB_TESTS_BUILDERS_STORED_RUN_H_
#define NORMLAB_TESTS_BUILDERS_STORED_RUN_H_

#include <string>

#include "core/strings.h"
#include "server/store/store.h"

namespace normlab::server {

// Rows with everything that a test does not care about filled in.

inline RunRow ARun(int64_t id) {
  RunRow row;
  row.id = RunId(id);
  row.identity = Cat("identity-", id);
  row.canonical = row.config = row.factors = row.observations = row.stop = "{}";
  row.config_flat = R"({"train.batch":8,"model.seq_len":128})";
  row.label = "pre";
  row.data_name = "kjv";
  row.data_sha256 = "sha";
  row.steps = 300;
  row.cost_class = "nano";
  return row;
}

inline AttemptRow AnAttempt(int64_t run, int number, int64_t count_after, int64_t count_to) {
  AttemptRow row;
  row.run = RunId(run);
  row.number = AttemptNumber(number);
  row.token = LeaseToken(static_cast<uint64_t>(run * 100 + number));
  row.worker = "w";
  row.incarnation = "i";
  row.store_id = "s";
  row.state = "running";
  row.count_after = count_after;
  row.count_to = count_to;
  return row;
}

inline RunStateRow AState(int64_t run, const std::string& state, int64_t head) {
  RunStateRow row;
  row.id = RunId(run);
  row.state = state;
  row.reason = "assigned";
  row.attempts = head;
  row.head = head;
  return row;
}

}  // namespace normlab::server

#endif  // NORMLAB_TESTS_BUILDERS_STORED_RUN_H_
