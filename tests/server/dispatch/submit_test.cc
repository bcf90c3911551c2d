#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "nlohmann/json.hpp"
#include "tests/builders/status_matchers.h"
#include "tests/server/dispatch/server_lab.h"

namespace normlab::server {
namespace {

TEST(Submit, ExpandsAndQueues) {
  ServerLab lab;
  const SubmitReply reply = lab.Submit(ServerLab::Spec({"pre", "geo"}, 2), "key");
  EXPECT_EQ(reply.sweep, SweepId(1));
  const auto answer = *ParseJson(reply.json);
  EXPECT_EQ(answer["schema"], "normlab.submit.v1");
  EXPECT_EQ(answer["runs"], 4);
  EXPECT_EQ(answer["linked"], 0);
  EXPECT_EQ(answer["sweep"], "s1");
  EXPECT_TRUE(answer["estimate_s"].is_null());
  EXPECT_EQ(answer["warnings"], nlohmann::json::array({"no worker is connected"}));
  EXPECT_EQ(lab.Number("SELECT count(*) FROM run_v WHERE state = 'queued'"), 4);
  EXPECT_EQ(lab.Text("SELECT factors FROM run_v WHERE run = 'r3'"), R"({"norm.placement":"geo"})");
  EXPECT_EQ(lab.Text("SELECT cell FROM member_v WHERE run = 'r4'"), "s1/c2");
}

// bf16 on a processor without instructions for it: said at submission, with the figure.
TEST(Submit, WarnsOfSlowBf16) {
  ServerLab lab;
  LabWorker worker(lab, "w1");
  const auto warnings = [&](const std::string& precision) {
    const std::string spec =
        ServerLab::Spec({"pre"}, 1, "{data: {name: kjv}, train: {precision: " + precision + "}}");
    return (*ParseJson(lab.Submit(spec, "", false, /*dry_run=*/true).json))["warnings"];
  };
  worker.set_isa("avx2");
  worker.Call();
  ASSERT_EQ(warnings("bf16").size(), 1u);
  EXPECT_THAT(warnings("bf16")[0].get<std::string>(),
              testing::AllOf(testing::HasSubstr("the processor of w1 (avx2) has neither"),
                             testing::HasSubstr("0.8 against 103 GFLOP/s")));
  EXPECT_TRUE(warnings("fp32").empty());
  EXPECT_TRUE(warnings("auto").empty());
  worker.set_isa("avx512+bf16");
  worker.Call();
  EXPECT_TRUE(warnings("bf16").empty());
}

TEST(Submit, AMergedCellKeepsTheFactorsOfAllItsNames) {
  ServerLab lab;
  lab.Submit(ServerLab::Spec({"peri", "sandwich"}), "key");
  EXPECT_EQ(lab.Text("SELECT names FROM cell_v"), R"(["peri","sandwich"])");
  EXPECT_EQ(lab.Text("SELECT factors FROM cell_v"), R"({"norm.placement":"peri"})");
  EXPECT_EQ(lab.Text("SELECT combinations FROM cell_v"),
            R"([{"norm.placement":"peri"},{"norm.placement":"sandwich"}])");
}

TEST(Submit, TheSameKeyIsTheSameSweep) {
  ServerLab lab;
  const SubmitReply first = lab.Submit(ServerLab::Spec({"pre"}), "key");
  lab.Restart();
  const SubmitReply second = lab.Submit(ServerLab::Spec({"pre"}), "key");
  EXPECT_EQ(second.sweep, first.sweep);
  EXPECT_EQ(second.json, first.json);
  EXPECT_EQ(lab.Number("SELECT count(*) FROM sweep_v"), 1);
}

TEST(Submit, LinksWhatExistsUnlessFresh) {
  ServerLab lab;
  lab.Submit(ServerLab::Spec({"pre"}, 2), "a");
  const auto second = *ParseJson(lab.Submit(ServerLab::Spec({"pre", "post"}, 2), "b").json);
  EXPECT_EQ(second["linked"], 2);
  EXPECT_EQ(second["linked_runs"], nlohmann::json::array({"r1", "r2"}));
  EXPECT_EQ(lab.Number("SELECT count(*) FROM run_v"), 4);
  const auto fresh = *ParseJson(lab.Submit(ServerLab::Spec({"pre"}, 2), "c", true).json);
  EXPECT_EQ(fresh["linked"], 0);
  EXPECT_EQ(lab.Number("SELECT count(*) FROM run_v"), 6);
}

TEST(Submit, ADryRunChangesNothing) {
  ServerLab lab;
  const auto answer =
      *ParseJson(lab.Submit(ServerLab::Spec({"pre"}), "", false, /*dry_run=*/true).json);
  EXPECT_TRUE(answer["dry_run"].get<bool>());
  EXPECT_TRUE(answer["sweep"].is_null());
  EXPECT_EQ(lab.Number("SELECT count(*) FROM sweep_v"), 0);
  EXPECT_EQ(lab.Number("SELECT count(*) FROM run_v"), 0);
}

TEST(Submit, UnknownDataSetSaysWhichThereAre) {
  ServerLab lab;
  SubmitRequest request;
  request.spec_json = ServerLab::Spec({"pre"}, 1, "{data: {name: missing}}");
  request.client_key = "key";
  EXPECT_THAT(lab.dispatcher().Submit(request),
              IsStatus(absl::StatusCode::kInvalidArgument,
                       "there is no data set 'missing'; there is: kjv; make it with `normlab data "
                       "prepare missing FILE…`"));
}

TEST(Submit, WhatARunWouldRefuseIsRefused) {
  ServerLab lab;
  const auto submit = [&lab](const std::string& model) {
    SubmitRequest request;
    request.spec_json =
        ServerLab::Spec({"pre", "geo"}, 1, "{data: {name: kjv}, model: {" + model + "}}");
    request.client_key = model;
    return lab.dispatcher().Submit(request);
  };
  EXPECT_THAT(submit("seq_len: 10000"),
              IsStatus(absl::StatusCode::kInvalidArgument,
                       "data set kjv: val.bin has 10000 tokens, too few for one sequence of 10000 "
                       "and its next token"));
  EXPECT_THAT(submit("vocab: 255"),
              IsStatus(absl::StatusCode::kInvalidArgument,
                       "data set kjv: its vocabulary of 256 is larger than model.vocab, 255"));
  EXPECT_THAT(submit("seq_len: 9999, vocab: 256"), IsOk());
  EXPECT_EQ(lab.Number("SELECT count(*) FROM sweep_v"), 1);
}

TEST(Submit, EstimatesFromWhatRanBefore) {
  ServerLab lab;
  lab.Submit(ServerLab::Spec({"pre"}, 1, "{data: {name: kjv}, train: {steps: 40}}"), "a");
  LabWorker worker(lab, "w");
  worker.Call();
  worker.Train(40, 40);
  worker.Send(1000);
  worker.Call();
  ASSERT_EQ(lab.Text("SELECT state FROM run_v"), "done");
  const auto answer = *ParseJson(
      lab.Submit(ServerLab::Spec({"geo"}, 2, "{data: {name: kjv}, train: {steps: 80}}"), "b").json);
  // 1 s for 40 steps; two runs of 80 on one slot.
  EXPECT_DOUBLE_EQ(answer["estimate_s"].get<double>(), 4);
}

}  // namespace
}  // namespace normlab::server
