// ctest runs as many of these programs at a time as there are cores, and threads of LibTorch that
// wait for each other spin: two programs with two threads each took fifty times as long as with
// one.

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace normlab::model {
namespace {

struct OneThread : testing::Environment {
  void SetUp() override { at::set_num_threads(1); }
};

const auto* const kOneThread = testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace
}  // namespace normlab::model
