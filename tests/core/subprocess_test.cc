#include "core/subprocess.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "core/file.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

SpawnOptions Shell(const std::string& script) {
  SpawnOptions options;
  options.argv = {"/bin/sh", "-c", script};
  return options;
}

// What the child writes to descriptor 1, and how it ended.
std::pair<std::string, ExitInfo> RunToEnd(SpawnOptions options) {
  auto pipe = MakePipe();
  EXPECT_THAT(pipe, IsOk());
  options.stdout_fd = pipe->write.get();
  auto child = Subprocess::Start(options);
  EXPECT_THAT(child, IsOk());
  pipe->write.Reset();
  std::string output = *ReadFile("/dev/fd/" + std::to_string(pipe->read.get()));
  return {output, (*child)->Wait()};
}

TEST(Subprocess, TellsHowItEnded) {
  EXPECT_EQ(RunToEnd(Shell("exit 0")).second.exit_code, 0);
  const ExitInfo coded = RunToEnd(Shell("exit 12")).second;
  EXPECT_EQ(coded.exit_code, 12);
  EXPECT_EQ(coded.signal, 0);
  EXPECT_GT(coded.max_rss_bytes, 100000);
  const ExitInfo killed = RunToEnd(Shell("kill -SEGV $$")).second;
  EXPECT_EQ(killed.signal, SIGSEGV);
  EXPECT_EQ(killed.exit_code, 0);
}

TEST(Subprocess, ProgramThatIsNotThere) {
  SpawnOptions options;
  EXPECT_EQ(Subprocess::Start(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.argv = {"/nowhere/normlab-trainer"};
  EXPECT_THAT(Subprocess::Start(options),
              IsStatus(absl::StatusCode::kNotFound,
                       "starting /nowhere/normlab-trainer: No such file or directory"));
}

TEST(Subprocess, EnvironmentFolderAndParent) {
  const TempDir dir;
  setenv("NORMLAB_TEST_GONE", "x", 1);
  SpawnOptions options = Shell("echo $A-$NORMLAB_TEST_GONE-$NORMLAB_PARENT_PID-$(pwd -P)");
  options.env_overrides = {{"A", "1"}};
  options.env_unset = {"NORMLAB_TEST_GONE"};
  options.working_dir = dir.path();
  EXPECT_EQ(RunToEnd(options).first, "1--" + std::to_string(getpid()) + "-" + dir.path() + "\n");
}

// The numbers are swapped on purpose: one descriptor's number is the other's target.
TEST(Subprocess, GivesExactlyTheDescriptorsAskedFor) {
  auto a = MakePipe();
  auto b = MakePipe();
  ASSERT_THAT(a, IsOk());
  ASSERT_THAT(b, IsOk());
  ASSERT_THAT(WriteAll(a->write.get(), "from a\n"), IsOk());
  ASSERT_THAT(WriteAll(b->write.get(), "from b\n"), IsOk());
  SpawnOptions options =
      Shell("read x <&3; read y <&5; echo $x, $y; ls /proc/self/fd | sort -n | tr '\\n' ' '");
  options.inherited_fds = {{3, b->read.get()}, {5, a->read.get()}};
  const auto [output, exit] = RunToEnd(options);
  // ls itself opens one: the folder it lists.
  EXPECT_EQ(output, "from b, from a\n0 1 2 3 4 5 ");
  EXPECT_EQ(exit.exit_code, 0);
  EXPECT_FALSE(Subprocess::Start([&] {
                 SpawnOptions wrong = Shell("true");
                 wrong.inherited_fds = {{99, 0}};
                 return wrong;
               }())
                   .ok());
}

TEST(Subprocess, StartsWithOrdinarySignalsAndEmptyInput) {
  signal(SIGPIPE, SIG_IGN);
  // `cat` ends at once on an empty input; a shell that inherited an ignored SIGPIPE could not die
  // of it.
  EXPECT_EQ(RunToEnd(Shell("cat; kill -PIPE $$; echo alive")).second.signal, SIGPIPE);
}

TEST(Subprocess, SignalsReachItWhileAnotherThreadWaits) {
  auto ready = MakePipe();
  ASSERT_THAT(ready, IsOk());
  SpawnOptions options = Shell("trap 'exit 12' TERM; echo ready; read forever <&4");
  auto never = MakePipe();
  ASSERT_THAT(never, IsOk());
  options.stdout_fd = ready->write.get();
  options.inherited_fds = {{4, never->read.get()}};
  auto child = Subprocess::Start(options);
  ASSERT_THAT(child, IsOk());
  char byte;
  ASSERT_EQ(read(ready->read.get(), &byte, 1), 1);
  EXPECT_EQ((*child)->TryWait(), std::nullopt);
  ExitInfo exit;
  std::thread waiter([&] { exit = (*child)->Wait(); });
  EXPECT_THAT((*child)->Signal(SIGTERM), IsOk());
  waiter.join();
  EXPECT_EQ(exit.exit_code, 12);
  EXPECT_EQ((*child)->Wait().exit_code, 12);
  EXPECT_EQ((*child)->Signal(SIGTERM).code(), absl::StatusCode::kNotFound);
}

TEST(Subprocess, IsKilledWhenItsOwnerGoes) {
  auto pipe = MakePipe();
  auto never = MakePipe();
  SpawnOptions options = Shell("read forever <&4");
  options.inherited_fds = {{3, pipe->write.get()}, {4, never->read.get()}};
  auto child = Subprocess::Start(options);
  ASSERT_THAT(child, IsOk());
  pipe->write.Reset();
  child->reset();
  // End of file: the child, the only other writer, is gone.
  EXPECT_EQ(*ReadFile("/dev/fd/" + std::to_string(pipe->read.get())), "");
}

TEST(Subprocess, RunsOnTheCpusAskedForAndOnlyTheChildDoes) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<size_t>(cpu), &before)) ++cpu;
  SpawnOptions options = Shell("grep Cpus_allowed_list /proc/self/status");
  options.cpus = {cpu};
  EXPECT_EQ(RunToEnd(options).first, "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Subprocess, HasAGroupOfItsOwn) {
  const auto own = RunToEnd(Shell("cut -d' ' -f5 /proc/$$/stat"));
  EXPECT_NE(std::stoi(own.first), getpgrp());
  SpawnOptions options = Shell("cut -d' ' -f5 /proc/$$/stat");
  options.own_group = false;
  EXPECT_EQ(std::stoi(RunToEnd(options).first), getpgrp());
}

}  // namespace
}  // namespace normlab
