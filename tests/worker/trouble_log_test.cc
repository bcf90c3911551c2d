#include "worker/trouble_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

namespace normlab::worker {
namespace {

// What is logged while it lives, a line each, as "level: text".
class LogCapture {
 public:
  LogCapture() : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>(
        "capture", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l: %v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~LogCapture() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST(TroubleLogTest, OneLineForEachChange) {
  const LogCapture capture;
  TroubleLog log("cannot hand records over", "records are taken again");
  log.Note(absl::OkStatus());
  log.Note(absl::UnavailableError("r1: a commit failed: disk full"));
  log.Note(absl::UnavailableError("r2: a commit failed: disk full"));
  log.Note(absl::NotFoundError("never issued"));
  log.Note(absl::OkStatus());
  log.Note(absl::OkStatus());
  EXPECT_EQ(capture.text(),
            "warning: cannot hand records over: r1: a commit failed: disk full\n"
            "warning: cannot hand records over: never issued\n"
            "info: records are taken again\n");
}

TEST(TroubleLogTest, TextIsNoFormat) {
  const LogCapture capture;
  TroubleLog log("failing", "working");
  log.Note(absl::UnavailableError("{} {"));
  EXPECT_EQ(capture.text(), "warning: failing: {} {\n");
}

}  // namespace
}  // namespace normlab::worker
