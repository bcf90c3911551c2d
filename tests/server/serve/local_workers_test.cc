#include "server/local_workers.h"

#include <sched.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "core/check.h"
#include "core/file.h"
#include "core/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/builders/temp_dir.h"
#include "tests/fakes/fake_clock.h"

namespace normlab::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

LocalWorkersOptions Options(int count) {
  LocalWorkersOptions options;
  options.count = count;
  options.program = "/bin/normlab";
  options.cpus = {0, 1, 2, 3, 4};
  return options;
}

TEST(LocalWorkerCommandTest, IsWhatAPersonWouldType) {
  LocalWorkersOptions options = Options(1);
  options.trainer_path = "/bin/normlab-trainer";
  const SpawnOptions command = LocalWorkerCommand(options, DataFolder("/data"), 0);
  EXPECT_THAT(command.argv, ElementsAre("/bin/normlab", "worker", "--local", "--name", "local-1",
                                        "--connect", "/data/connect.json", "--data", "/data"));
  EXPECT_EQ(command.env_overrides.at("NORMLAB_TRAINER"), "/bin/normlab-trainer");
  EXPECT_THAT(command.cpus, IsEmpty()) << "one worker may use them all";
}

TEST(LocalWorkerCommandTest, CpusAndGpusAreDealtOut) {
  LocalWorkersOptions options = Options(2);
  options.gpus = {"0", "1", "2"};
  const SpawnOptions first = LocalWorkerCommand(options, DataFolder("/data"), 0);
  const SpawnOptions second = LocalWorkerCommand(options, DataFolder("/data"), 1);
  EXPECT_THAT(first.cpus, ElementsAre(0, 1));
  EXPECT_THAT(second.cpus, ElementsAre(2, 3, 4));
  EXPECT_EQ(first.argv.back(), "0,2");
  EXPECT_EQ(second.argv.back(), "1");
  EXPECT_THAT(second.argv, Contains("local-2"));
}

TEST(LocalWorkerCommandTest, MoreWorkersThanCpusShareThem) {
  EXPECT_THAT(LocalWorkerCommand(Options(6), DataFolder("/data"), 5).cpus, IsEmpty());
}

// A program that says in a pipe that it has started, and then does as told.
class LocalWorkersTest : public ::testing::Test {
 protected:
  LocalWorkersTest() : data_(folder_.path()) {
    CHECK(mkfifo(fifo().c_str(), 0600) == 0);
    options_.program = folder_.File("program");
  }
  void Program(const std::string& body) {
    CHECK_OK(
        WriteFileDurably(options_.program, Cat("#!/bin/sh\necho said by $4\n", body, "\n"), 0700));
  }
  std::string fifo() const { return folder_.File("fifo"); }
  // Blocks until a worker has written its line into the pipe.
  std::string Line() {
    std::ifstream pipe(fifo());
    std::string line;
    std::getline(pipe, line);
    return line;
  }

  TempDir folder_;
  DataFolder data_;
  LocalWorkersOptions options_;
  FakeClock clock_;
};

TEST_F(LocalWorkersTest, StopEndsThemAndTheirWordsAreKept) {
  Program(Cat("echo up > ", fifo(), "\nwhile :; do read -r line < ", fifo(), "; done"));
  LocalWorkers workers(options_, data_, clock_);
  EXPECT_EQ(Line(), "up");
  EXPECT_FALSE(workers.Ended());
  workers.Stop();
  while (!workers.Ended()) sched_yield();
  EXPECT_EQ(ReadFile(folder_.File("logs/local-1.log")).value(), "said by local-1\n");
}

TEST_F(LocalWorkersTest, OneThatEndsIsStartedAgainAfterAPause) {
  Program(Cat("echo up > ", fifo()));
  LocalWorkers workers(options_, data_, clock_);
  EXPECT_EQ(Line(), "up");
  clock_.AwaitWaiters(1);
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(Line(), "up");
  clock_.AwaitWaiters(1);
  workers.Stop();
  while (!workers.Ended()) sched_yield();
  EXPECT_EQ(ReadFile(folder_.File("logs/local-1.log")).value(),
            "said by local-1\nsaid by local-1\n");
}

TEST_F(LocalWorkersTest, AProgramThatIsNotThereIsTriedAgainUntilTheEnd) {
  options_.program = folder_.File("missing");
  LocalWorkers workers(options_, data_, clock_);
  clock_.AwaitWaiters(1);
  EXPECT_FALSE(workers.Ended());
}

}  // namespace
}  // namespace normlab::server
