#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "nlohmann/json.hpp"
#include "tests/builders/status_matchers.h"
#include "tests/server/dispatch/server_lab.h"

namespace normlab::server {
namespace {

// Nothing that decides what runs next looks at a page of the runs only.
TEST(BigSweep, TenThousandRunsAndTheLastOnesRunToo) {
  ServerLab lab;
  const std::string spec =
      ServerLab::Spec({"pre", "geo"}, 5001, "{data: {name: kjv}, train: {steps: 1}}");
  EXPECT_EQ((*ParseJson(lab.Submit(spec, "a").json))["runs"], 10002);
  EXPECT_THAT(lab.dispatcher().Cancel("r1-r9999", ""), IsOk());
  LabWorker worker(lab, "w", 4);
  worker.Call();
  worker.Train(1, 1);
  worker.Send(10);
  worker.Call();
  EXPECT_EQ(lab.Number("SELECT count(*) FROM run_v WHERE state = 'done' AND run_id >= 10000"), 3);
  // Sent again under another key, all that is left is linked.
  const auto again = *ParseJson(lab.Submit(spec, "b").json);
  EXPECT_EQ(again["linked"], 3);
}

}  // namespace
}  // namespace normlab::server
