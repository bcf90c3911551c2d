#include "core/envelope.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

using nlohmann::json;

Envelope MakeEnvelope() {
  Envelope envelope;
  envelope.run = RunId(37);
  envelope.attempt = AttemptNumber(4);
  envelope.token = LeaseToken(0xabcdef);
  EXPECT_THAT(envelope.config.Parse("norm.placement", "geo"), IsOk());
  envelope.stop = {.nonfinite = false, .spikes_per_1k = 20, .after_step = 100};
  envelope.dataset = {"kjv", "/data/datasets/kjv", std::string(64, 'a')};
  envelope.resume = Envelope::Resume{
      "/data/checkpoints/r37/3/100", 100, AttemptNumber(3), {{AttemptNumber(1), 60}}};
  envelope.threads = 2;
  envelope.device = "cuda:0";
  envelope.checkpoint_dir = "/data/checkpoints/r37/4";
  return envelope;
}

TEST(Envelope, ReadsBackAsTheSameWork) {
  const Envelope envelope = MakeEnvelope();
  const auto again = EnvelopeFromJson(ToJson(envelope));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(ToJson(*again), ToJson(envelope));
  EXPECT_EQ(again->run, RunId(37));
  EXPECT_EQ(again->token, LeaseToken(0xabcdef));
  EXPECT_EQ(again->stop, envelope.stop);
  EXPECT_EQ(again->resume, envelope.resume);
  EXPECT_EQ(again->config.Identity("d"), envelope.config.Identity("d"));
}

// A server from before ancestors were told.
TEST(Envelope, AResumeWithoutAncestorsHasNone) {
  json document = ToJson(MakeEnvelope());
  document["resume"].erase("ancestors");
  const auto envelope = EnvelopeFromJson(document);
  ASSERT_THAT(envelope, IsOk());
  EXPECT_TRUE(envelope->resume->ancestors.empty());
  EXPECT_EQ(envelope->resume->step, 100);
}

// The names that a trainer of another version relies on.
TEST(Envelope, LooksAsDocumented) {
  Envelope envelope = MakeEnvelope();
  envelope.resume.reset();
  const json document = ToJson(envelope);
  EXPECT_EQ(document["protocol"], 1);
  EXPECT_EQ(document["run"], "r37");
  EXPECT_EQ(document["attempt"], 4);
  EXPECT_EQ(document["token"], "0000000000abcdef");
  EXPECT_EQ(document["config"]["norm"]["placement"], "geo");
  EXPECT_EQ(document["stop"],
            json({{"nonfinite", false}, {"spikes_per_1k", 20.0}, {"after_step", 100}}));
  EXPECT_EQ(document["dataset"]["dir"], "/data/datasets/kjv");
  EXPECT_TRUE(document["resume"].is_null());
  EXPECT_EQ(document["threads"], 2);
  EXPECT_EQ(document["device"], "cuda:0");
  EXPECT_EQ(document["checkpoint_dir"], "/data/checkpoints/r37/4");
}

TEST(Envelope, SaysWhatIsWrong) {
  const auto with = [](const char* path, const json& value) {
    json document = ToJson(MakeEnvelope());
    document[json::json_pointer(path)] = value;
    return EnvelopeFromJson(document);
  };
  EXPECT_THAT(with("/protocol", 2), IsStatus(absl::StatusCode::kFailedPrecondition,
                                             "the envelope has protocol 2; this program speaks 1"));
  EXPECT_THAT(with("/run", "s3"), IsStatusWith(kInvalid, "'s3' is not a run's id"));
  EXPECT_THAT(with("/attempt", 0), IsStatusWith(kInvalid, "'0' is not an attempt's number"));
  EXPECT_THAT(with("/threads", 0), IsStatusWith(kInvalid, "'threads' should be at least 1"));
  EXPECT_THAT(with("/config/norm/placement", "gheo"),
              IsStatusWith(kInvalid, "norm.placement: 'gheo' is none of its values"));
  EXPECT_THAT(with("/stop/spike", 3), IsStatusWith(kInvalid, "'spike' is no stop rule"));
  EXPECT_THAT(with("/resume/step", "x"), IsStatusWith(kInvalid, "'step' should be a whole number"));
  EXPECT_THAT(with("/resume/attempt", 0), IsStatusWith(kInvalid, "'0' is not an attempt's number"));
  EXPECT_THAT(with("/resume/ancestors/0/step", "x"),
              IsStatusWith(kInvalid, "'step' should be a whole number"));
  json document = ToJson(MakeEnvelope());
  document.erase("dataset");
  EXPECT_THAT(EnvelopeFromJson(document), IsStatusWith(kInvalid, "'dataset' is missing"));
  EXPECT_THAT(EnvelopeFromJson(json::array()), IsStatusWith(kInvalid, "expected a JSON object"));
}

}  // namespace
}  // namespace normlab
