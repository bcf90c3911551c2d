#include "server/query/query_api.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/builders/non_finite.h"
#include "tests/builders/status_matchers.h"
#include "tests/server/query/query_lab.h"

namespace normlab::server {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const RunId kFirst(1);

TEST(QueryApiTest, SweepsAreListedNewestFirstWithTheirProgress) {
  QueryLab lab;
  lab.AddSweep("first", {{"pre"}, {"geo"}}, 2);
  lab.AddSweep("second", {{"pre"}}, 1);
  lab.Connect("w1");
  lab.Finish(RunId(1), 2.0);
  lab.Finish(RunId(2), 2.1, "diverged");
  lab.Start(RunId(3));
  const json sweeps = lab.Document("sweeps").at("sweeps");
  ASSERT_EQ(sweeps.size(), 2u);
  EXPECT_EQ(sweeps[0].at("id"), "s2");
  EXPECT_EQ(sweeps[0].at("state"), "queued");
  const json& first = sweeps[1];
  EXPECT_EQ(first.at("name"), "first");
  EXPECT_EQ(first.at("state"), "running");
  EXPECT_EQ(first.at("baseline"), "pre");
  EXPECT_EQ(first.at("cells"), 2);
  EXPECT_EQ(first.at("runs"), 4);
  EXPECT_EQ(first.at("counts"), (json{{"queued", 1},
                                      {"waiting", 0},
                                      {"running", 1},
                                      {"done", 2},
                                      {"failed", 0},
                                      {"cancelled", 0}}));
  EXPECT_EQ(first.at("outcomes"), (json{{"healthy", 1}, {"diverged", 1}, {"censored", 0}}));
  EXPECT_EQ(first.at("factors"),
            json::array({{{"key", "norm.placement"}, {"levels", {"pre", "geo"}}}}));
  EXPECT_DOUBLE_EQ(first.at("progress"), 0.5);
  EXPECT_EQ(first.at("warnings"), json::array());
}

TEST(QueryApiTest, ASweepThatFitsNowhereSaysSo) {
  QueryLab lab;
  lab.AddSweep("big", {{"pre"}}, 1, 2);
  lab.Connect("w1", 1);
  const json sweep = lab.Document("sweeps/last").at("sweep");
  ASSERT_EQ(sweep.at("warnings").size(), 1u);
  EXPECT_THAT(sweep.at("warnings")[0].get<std::string>(), HasSubstr("2 GPUs"));
  const json runs = lab.Document("sweeps/last/runs").at("runs");
  EXPECT_THAT(runs[0].at("explain").get<std::string>(), HasSubstr("2 GPUs"));
}

TEST(QueryApiTest, ASweepShowsItsCellsAndItsSpec) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}, {"peri = sandwich", {"peri", "sandwich"}}}, 2);
  const json sweep = lab.Document("sweeps/p").at("sweep");
  ASSERT_EQ(sweep.at("cells_detail").size(), 2u);
  const json& cell = sweep.at("cells_detail")[1];
  EXPECT_EQ(cell.at("id"), "s1/c2");
  EXPECT_EQ(cell.at("names"), (json{"peri", "sandwich"}));
  EXPECT_EQ(cell.at("factors"), (json{{"norm.placement", "peri"}}));
  EXPECT_EQ(cell.at("runs"), (json{"r3", "r4"}));
  EXPECT_EQ(sweep.at("spec").at("name"), "p");
  EXPECT_EQ(sweep.at("budget").at("failures"), 2);
}

TEST(QueryApiTest, RunsCarryTheirNumbers) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}, {"geo"}}, 2);
  lab.Finish(RunId(3), 2.25);
  const json document = lab.Document("sweeps/s1/runs");
  EXPECT_EQ(document.at("factor_keys"), (json{"norm.placement"}));
  ASSERT_EQ(document.at("runs").size(), 4u);
  const json& run = document.at("runs")[2];
  EXPECT_EQ(run.at("id"), "r3");
  EXPECT_EQ(run.at("cell"), "s1/c2");
  EXPECT_EQ(run.at("label"), "geo");
  EXPECT_EQ(run.at("seed"), 1);
  EXPECT_EQ(run.at("state"), "done");
  EXPECT_EQ(run.at("outcome"), "healthy");
  EXPECT_EQ(run.at("factors"), (json{{"norm.placement", "geo"}}));
  EXPECT_EQ(run.at("step"), 4);
  EXPECT_EQ(run.at("steps"), 4);
  EXPECT_EQ(run.at("val_loss"), 2.25);
  EXPECT_EQ(run.at("growth"), 4);
  EXPECT_EQ(run.at("worker"), "w1");
  EXPECT_EQ(run.at("linked"), false);
  EXPECT_EQ(document.at("runs")[0].at("val_loss"), nullptr);
  const json cell = lab.Document("sweeps/s1%2Fc2/runs").at("runs");
  ASSERT_EQ(cell.size(), 2u);
  EXPECT_EQ(cell[1].at("id"), "r4");
}

TEST(QueryApiTest, LinkedRunsAreTheSameRuns) {
  QueryLab lab;
  const SweepId first = lab.AddSweep("first", {{"pre"}}, 2);
  lab.AddLinkedSweep("again", first);
  const json again = lab.Document("sweeps/again").at("sweep");
  EXPECT_EQ(again.at("linked"), 2);
  const json runs = lab.Document("sweeps/again/runs").at("runs");
  EXPECT_EQ(runs[0].at("id"), "r1");
  EXPECT_EQ(runs[0].at("linked"), true);
  EXPECT_EQ(runs[0].at("cell"), "s2/c1");
  EXPECT_EQ(lab.Document("runs/r1").at("run").at("sweeps"), (json{"s1", "s2"}));
}

TEST(QueryApiTest, SelectorsStandWhereIdsDo) {
  QueryLab lab;
  lab.AddSweep("placements", {{"pre"}, {"geo"}}, 2);
  lab.AddSweep("depth", {{"pre"}}, 1);
  for (const char* selector : {"s1", "placements", "plac"}) {
    EXPECT_EQ(lab.Document(std::string("sweeps/") + selector).at("sweep").at("id"), "s1");
  }
  EXPECT_EQ(lab.Document("sweeps/last").at("sweep").at("id"), "s2");
  EXPECT_EQ(lab.Document("runs/s1%2Fc2%2F1").at("run").at("id"), "r3");
  EXPECT_EQ(lab.Document("runs/placements%2Fc2%2F2").at("run").at("id"), "r4");
}

TEST(QueryApiTest, WhatIsNotThereOrNotRightIsSaid) {
  struct Case {
    std::string path;
    Params params;
    absl::StatusCode code;
    std::string message;
  };
  constexpr auto kNone = absl::StatusCode::kNotFound;
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  QueryLab lab;
  lab.AddSweep("pa", {{"pre"}}, 1);
  lab.AddSweep("pb", {{"pre"}}, 1);
  lab.Finish(kFirst, 2);
  for (const Case& c :
       {Case{"sweeps/s9", {}, kNone, "s9"}, Case{"sweeps/none", {}, kNone, "none"},
        Case{"sweeps/p", {}, kBad, "pa, pb"}, Case{"runs/r99", {}, kNone, "r99"},
        Case{"runs/s1%2Fc1%2F7", {}, kNone, "seed 7"}, Case{"sweeps/s1%2Fc9", {}, kNone, "c9"},
        Case{"runs/s1", {}, kBad, "run"}, Case{"nothing", {}, kNone, "nothing"},
        Case{"sweeps/s1/nothing", {}, kNone, "nothing"}, Case{"runs/r1/scalars", {}, kBad, "key"},
        Case{"runs/r1/scalars", {{"key", "loss"}}, kNone, "train_loss"},
        Case{"runs/r1/scalars", {{"key", "train_loss"}, {"points", "0"}}, kBad, "points"},
        Case{"runs/r1/scalars", {{"key", "train_loss"}, {"form", "1"}}, kBad, "form"},
        Case{"sweeps/s1/compare", {{"metric", "los"}}, kBad, "val_loss"},
        Case{"sweeps/s1/compare", {{"by", "lr"}}, kBad, "norm.placement"},
        Case{"sweeps/s1/compare", {{"baseline", "geo"}}, kBad, "pre"},
        Case{"query", {{"sql", "DELETE FROM run"}}, absl::StatusCode::kPermissionDenied, ""},
        Case{"query", {{"sql", "SELECT nothing"}}, kBad, "nothing"}}) {
    EXPECT_THAT(lab.Get(c.path, c.params), IsStatusWith(c.code, c.message)) << c.path;
  }
}

TEST(QueryApiTest, ACurveKeepsNonFiniteValuesAndLosesNothing) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}}, 1);
  lab.Start(kFirst);
  QueryLab::Result result;
  result.loss = {4, kInf, kNan, -kInf};
  lab.Measure(kFirst, result);
  const json exact = lab.Document("runs/r1/scalars", {{"key", "train_loss"}});
  EXPECT_EQ(exact.at("exact"), true);
  EXPECT_EQ(exact.at("step"), (json{1, 2, 3, 4}));
  EXPECT_EQ(exact.at("value"), (json{4.0, "inf", "nan", "-inf"}));
  EXPECT_EQ(exact.at("attempt"), (json{1, 1, 1, 1}));
  const json part =
      lab.Document("runs/r1/scalars", {{"key", "train_loss"}, {"from", "2"}, {"to", "3"}});
  EXPECT_EQ(part.at("step"), (json{2, 3}));
  const json picture = lab.Document("runs/r1/scalars", {{"key", "train_loss"}, {"points", "2"}});
  EXPECT_EQ(picture.at("exact"), false);
  EXPECT_EQ(picture.at("from"), (json{1, 3}));
  EXPECT_EQ(picture.at("to"), (json{2, 4}));
  EXPECT_EQ(picture.at("min"), (json{4.0, nullptr}));
  EXPECT_EQ(picture.at("first"), (json{4.0, "nan"}));
  EXPECT_EQ(picture.at("last"), (json{"inf", "-inf"}));
  EXPECT_EQ(picture.at("nonfinite"), (json{1, 2}));
}

TEST(QueryApiTest, ARunWithNothingMeasuredHasEmptyCurves) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}}, 1);
  EXPECT_EQ(lab.Document("runs/r1/scalars", {{"key", "train_loss"}}).at("step"), json::array());
  EXPECT_EQ(lab.Document("runs/r1/profiles", {{"key", "hidden_ma"}, {"step", "last"}}).at("step"),
            json::array());
  EXPECT_EQ(lab.Document("runs/r1/evals").at("evals"), json::array());
  EXPECT_EQ(lab.Document("runs/r1/events").at("events"), json::array());
  EXPECT_EQ(lab.Document("runs/r1/logs").at("lines"), json::array());
  EXPECT_EQ(lab.Document("runs/r1").at("run").at("attempts"), json::array());
}

TEST(QueryApiTest, AResumedRunIsOneCurve) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}}, 1);
  lab.Start(kFirst, "w1");
  QueryLab::Result first;
  first.loss = {4, 3, 9};
  lab.Measure(kFirst, first);
  lab.Start(kFirst, "w2", 2);
  QueryLab::Result second;
  second.loss = {2, 1};
  lab.Measure(kFirst, second);
  const json curve = lab.Document("runs/r1/scalars", {{"key", "train_loss"}});
  EXPECT_EQ(curve.at("step"), (json{1, 2, 3, 4}));
  EXPECT_EQ(curve.at("value"), (json{4.0, 3.0, 2.0, 1.0}));
  EXPECT_EQ(curve.at("attempt"), (json{1, 1, 2, 2}));
  const json attempts = lab.Document("runs/r1").at("run").at("attempts");
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].at("reason"), "lost_worker");
  EXPECT_EQ(attempts[1].at("parent"), 1);
  EXPECT_EQ(attempts[1].at("start_step"), 2);
}

TEST(QueryApiTest, EveryDocumentIsStrictJsonWhenNothingIsFinite) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}, {"geo"}}, 1);
  lab.Connect("w1");
  for (const RunId run : {RunId(1), RunId(2)}) {
    lab.Start(run);
    QueryLab::Result result;
    result.loss = {kNan, kInf, -kInf, kNan};
    result.evals = {{4, kNan, kInf, kInf}};
    result.profiles = {{4, "hidden_ma", 0, {1, kInf, kNan}}};
    result.summary.train_loss = kNan;
    result.summary.grad_norm = kInf;
    result.summary.val_loss = kNan;
    result.summary.ppl_of_mean = kInf;
    result.summary.val_step = 4;
    result.summary.tokens_per_s = kInf;
    result.summary.growth_first = 1;
    result.summary.growth_last = kInf;
    result.summary.first_nonfinite_step = 1;
    lab.Measure(run, result);
    lab.End(run, "done", "diverged");
  }
  // Document() itself reads every answer back with a strict parser.
  for (const char* path :
       {"sweeps", "sweeps/s1", "sweeps/s1/runs", "sweeps/s1/compare", "runs/r1", "runs/r1/evals",
        "runs/r1/events", "runs/r1/logs", "workers", "knobs", "server"}) {
    lab.Document(path);
  }
  const json run = lab.Document("runs/r1").at("run");
  EXPECT_EQ(run.at("train_loss"), "nan");
  EXPECT_EQ(run.at("grad_norm"), "inf");
  EXPECT_EQ(run.at("val_loss"), "nan");
  EXPECT_EQ(run.at("growth"), "inf");
  EXPECT_EQ(run.at("best_val_loss"), nullptr);
  const json profile = lab.Document("runs/r1/profiles", {{"key", "hidden_ma"}, {"step", "last"}});
  EXPECT_EQ(profile.at("values"), (json{{1.0, "inf", "nan"}}));
  const json evals = lab.Document("runs/r1/evals").at("evals");
  EXPECT_EQ(evals[0].at("val_loss"), "nan");
  const json arms = lab.Document("sweeps/s1/compare").at("arms");
  EXPECT_EQ(arms[0].at("mean"), nullptr) << "a value that is not finite enters no mean";
  EXPECT_EQ(arms[0].at("nonfinite"), 1);
  EXPECT_EQ(arms[0].at("diverged"), (json{{"k", 1}, {"n", 1}}));
  const json sql = lab.Document("query", {{"sql", "SELECT grad_norm, val_loss FROM run_v"}});
  EXPECT_EQ(sql.at("rows")[0], (json{"inf", nullptr}));
}

TEST(QueryApiTest, CompareIsPairedBySeedAgainstTheBaseline) {
  QueryLab lab;
  lab.AddSweep(
      "p",
      {{"pre", {}, {{"norm", {{"final", true}}}}}, {"geo", {}, {{"norm", {{"final", false}}}}}}, 2);
  lab.Finish(RunId(1), 2.0);
  lab.Finish(RunId(2), 3.0);
  lab.Finish(RunId(3), 1.5);
  const json document = lab.Document("sweeps/p/compare");
  EXPECT_EQ(document.at("metric"), "val_loss");
  EXPECT_EQ(document.at("baseline"), "pre");
  const json& pre = document.at("arms")[0];
  EXPECT_EQ(pre.at("label"), "pre");
  EXPECT_EQ(pre.at("cell"), "s1/c1");
  EXPECT_EQ(pre.at("n"), 2);
  EXPECT_DOUBLE_EQ(pre.at("mean"), 2.5);
  EXPECT_NEAR(pre.at("ci_high").get<double>(), 2.5 + 12.70620474 * 0.5, 1e-6);
  EXPECT_EQ(pre.at("diff"), nullptr);
  EXPECT_EQ(pre.at("diverged"), (json{{"k", 0}, {"n", 2}}));
  EXPECT_EQ(pre.at("growth"), (json{{"first", 1.0}, {"last", 4.0}, {"ratio", 4.0}}));
  const json& geo = document.at("arms")[1];
  EXPECT_EQ(geo.at("n"), 1);
  EXPECT_EQ(geo.at("planned"), 2);
  EXPECT_EQ(geo.at("ci_low"), nullptr);
  EXPECT_DOUBLE_EQ(geo.at("diff").at("mean"), -0.5);
  EXPECT_EQ(geo.at("diff").at("n_pairs"), 1);
  EXPECT_EQ(geo.at("differs_in"), (json{"norm.final"}));
  EXPECT_EQ(document.at("notes")[0], "1 of 4 runs are not finished");
  const json against_geo = lab.Document("sweeps/p/compare", {{"baseline", "geo"}});
  EXPECT_DOUBLE_EQ(against_geo.at("arms")[0].at("diff").at("mean"), 0.5);
}

TEST(QueryApiTest, ARunThatEndedEarlyHasNoFinalValue) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}}, 2);
  lab.Finish(RunId(1), 2.0);
  lab.Start(RunId(2));
  QueryLab::Result early;
  early.loss = {4, kNan};
  early.summary.val_loss = 3.9;
  early.summary.val_step = 0;
  lab.Measure(RunId(2), early);
  lab.End(RunId(2), "done", "diverged", "nonfinite");
  const json arm = lab.Document("sweeps/p/compare").at("arms")[0];
  EXPECT_EQ(arm.at("n"), 1);
  EXPECT_DOUBLE_EQ(arm.at("mean"), 2.0);
  EXPECT_EQ(arm.at("diverged"), (json{{"k", 1}, {"n", 2}}));
}

TEST(QueryApiTest, LogLinesGoOnAfterTheLastOneRead) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}}, 1);
  lab.Start(kFirst);
  QueryLab::Result result;
  result.lines = {"one", "two"};
  lab.Measure(kFirst, result);
  lab.Start(kFirst, "w2");
  result.lines = {"three"};
  lab.Measure(kFirst, result);
  const json lines = lab.Document("runs/r1/logs").at("lines");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2].at("text"), "three");
  EXPECT_EQ(lines[2].at("attempt"), 2);
  const json rest =
      lab.Document("runs/r1/logs", {{"after", lines[1].at("seq").dump()}}).at("lines");
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].at("text"), "three");
}

TEST(QueryApiTest, WorkersSayWhatTheyDo) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}}, 1);
  lab.Connect("w1", 2);
  lab.Start(kFirst, "w1");
  const json workers = lab.Document("workers").at("workers");
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].at("state"), "connected");
  EXPECT_EQ(workers[0].at("busy"), 1);
  EXPECT_EQ(workers[0].at("runs"), (json{"r1"}));
  EXPECT_EQ(workers[0].at("gpus").size(), 2u);
  EXPECT_EQ(workers[0].at("trainer_error"), nullptr);
}

TEST(QueryApiTest, NobodyIsConnectedWithoutAServer) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}}, 1);
  lab.Connect("w1");
  const auto offline = QueryApi::Open(lab.database(), lab.clock(), ServerFacts());
  ASSERT_THAT(offline, IsOk());
  const auto workers = (*offline)->Get("/api/v1/workers", {});
  EXPECT_EQ(workers->at("workers")[0].at("state"), "lost");
  EXPECT_EQ((*offline)->Get("/api/v1/server", {})->at("started_at"), nullptr);
}

TEST(QueryApiTest, KnobsAreTheTable) {
  QueryLab lab;
  const json knobs = lab.Document("knobs").at("knobs");
  EXPECT_GT(knobs.size(), 40u);
  bool found = false;
  for (const json& knob : knobs) {
    if (knob.at("key") != "norm.placement") continue;
    found = true;
    EXPECT_EQ(knob.at("affects"), "result");
    EXPECT_GE(knob.at("choices").size(), 6u);
  }
  EXPECT_TRUE(found);
}

TEST(QueryApiTest, SqlSeesViewsAndSeries) {
  QueryLab lab;
  lab.AddSweep("p", {{"pre"}}, 1);
  lab.Finish(kFirst, 2.0);
  const json states = lab.Document(
      "query", {{"sql", "SELECT state, outcome, count(*) AS n FROM run_v GROUP BY 1, 2"}});
  EXPECT_EQ(states.at("columns"), (json{"state", "outcome", "n"}));
  EXPECT_EQ(states.at("rows"), (json::array({json{"done", "healthy", 1}})));
  const json curve =
      lab.Document("query", {{"sql", "SELECT step, value FROM scalar('r1', 'train_loss')"}});
  EXPECT_EQ(curve.at("rows").size(), 4u);
  EXPECT_EQ(curve.at("rows")[3], (json{4, 1.0}));
}

}  // namespace
}  // namespace normlab::server
