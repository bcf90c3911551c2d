#include "kernels/testing/simt.h"

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "kernels/testing/fiber_stack.h"

namespace normlab::kernels::simt {
namespace {

namespace context = boost::context;

constexpr unsigned kLanes = 32;
constexpr std::size_t kStackBytes = std::size_t{256} * 1024;

// Stacks are used again from block to block: making them costs more than running most kernels.
context::pooled_fixedsize_stack& Stacks() {
  static context::pooled_fixedsize_stack stacks(kStackBytes);
  return stacks;
}

// Takes a stack from there and notes where it lies.
struct NotedStacks {
  FiberStack* noted;
  context::stack_context allocate() {
    const context::stack_context stack = Stacks().allocate();
    *noted = {static_cast<const char*>(stack.sp) - stack.size, stack.size};
    return stack;
  }
  void deallocate(context::stack_context& stack) { Stacks().deallocate(stack); }
};

// Thrown inside a fiber to leave the kernel after a fault.
struct Stop {};

enum class Wait { kNone, kBlock, kWarp, kDone };

struct Thread {
  context::fiber fiber;   // the kernel's side while the scheduler runs
  context::fiber caller;  // the scheduler's side while the kernel runs
  FiberStack stack;
  Coordinates here;
  Wait wait = Wait::kNone;
  unsigned mask = 0;       // of the exchange that it waits for
  unsigned exchanges = 0;  // that it has entered
};

// Two generations, so that a lane may enter the next exchange while others still read this one.
struct Warp {
  std::uint64_t posted[2][kLanes] = {};
};

class Block {
 public:
  Block(unsigned index, unsigned blocks, unsigned threads, const std::function<void()>& body)
      : threads_(threads), warps_((threads + kLanes - 1) / kLanes) {
    for (unsigned i = 0; i < threads; ++i) {
      Thread& thread = threads_[i];
      thread.here = {{i}, {index}, {threads}, {blocks}};
      thread.fiber = context::fiber(std::allocator_arg, NotedStacks{&thread.stack},
                                    [this, &thread, &body](context::fiber&& caller) {
                                      return Live(thread, body, std::move(caller));
                                    });
    }
  }

  std::string Run();

  void Yield(Wait wait) {
    Thread& thread = *current_;
    thread.wait = wait;
    Leave(thread.stack, scheduler_);
    thread.caller = std::move(thread.caller).resume();
    Arrive(thread.stack, scheduler_);
    if (!fault_.empty()) throw Stop{};
  }

  [[noreturn]] void Fail(const std::string& what) {
    if (fault_.empty()) {
      std::ostringstream text;
      text << what << " (block " << current_->here.block.x << ", thread " << current_->here.thread.x
           << ")";
      fault_ = text.str();
    }
    throw Stop{};
  }

  Thread& current() { return *current_; }
  Warp& warp() { return warps_[current_->here.thread.x / kLanes]; }

 private:
  void RunWarp(unsigned warp, bool reverse);
  bool ReleaseBlock();
  bool ReleaseWarp(unsigned warp);
  // A thread from its first instruction to its last, on its own stack.
  context::fiber Live(Thread& thread, const std::function<void()>& body, context::fiber caller) {
    Arrive(thread.stack, scheduler_);
    thread.caller = std::move(caller);
    try {
      if (fault_.empty()) body();
    } catch (const Stop&) {
      // The fault is kept by the block.
    }
    thread.wait = Wait::kDone;
    LeaveForGood(scheduler_);
    return std::move(thread.caller);
  }
  void Resume(Thread& thread) {
    current_ = &thread;
    Leave(scheduler_, thread.stack);
    thread.fiber = std::move(thread.fiber).resume();
    Arrive(scheduler_, thread.stack);
  }
  std::string Stuck() const;

  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  FiberStack scheduler_;
  Thread* current_ = nullptr;
  std::string fault_;
};

Block* running = nullptr;
std::map<const char*, std::int64_t>& Buffers() {
  static std::map<const char*, std::int64_t> buffers;
  return buffers;
}

// Between two barriers of the block each warp runs as far as it can before the next one starts, and
// odd blocks take warps and lanes in reverse order: of two accesses that no barrier separates,
// either comes first in one block or another.
std::string Block::Run() {
  const bool reverse = threads_[0].here.block.x % 2 == 1;
  const auto warps = static_cast<unsigned>(warps_.size());
  do {
    for (unsigned i = 0; i < warps; ++i) RunWarp(reverse ? warps - 1 - i : i, reverse);
  } while (ReleaseBlock());
  bool all_done = true;
  for (const Thread& thread : threads_) all_done &= thread.wait == Wait::kDone;
  if (fault_.empty() && !all_done) fault_ = Stuck();
  for (Thread& thread : threads_) {
    if (thread.wait != Wait::kDone) Resume(thread);  // leaves by Stop, or without having begun
  }
  return fault_;
}

// To a barrier of the block, or to the end.
void Block::RunWarp(unsigned warp, bool reverse) {
  do {
    for (unsigned i = 0; i < kLanes; ++i) {
      const unsigned index = warp * kLanes + (reverse ? kLanes - 1 - i : i);
      if (index >= threads_.size() || threads_[index].wait != Wait::kNone) continue;
      Resume(threads_[index]);
      if (!fault_.empty()) return;
    }
  } while (ReleaseWarp(warp));
}

bool Block::ReleaseBlock() {
  for (const Thread& thread : threads_) {
    if (thread.wait != Wait::kBlock) return false;
  }
  for (Thread& thread : threads_) thread.wait = Wait::kNone;
  return true;
}

// Lanes go on when all lanes of the mask have entered the same exchange with the same mask.
bool Block::ReleaseWarp(unsigned warp) {
  bool released = false;
  for (unsigned lane = 0; lane < kLanes && warp * kLanes + lane < threads_.size(); ++lane) {
    Thread& first = threads_[warp * kLanes + lane];
    if (first.wait != Wait::kWarp) continue;
    bool complete = true;
    for (unsigned other = 0; other < kLanes; ++other) {
      if ((first.mask >> other & 1) == 0) continue;
      const unsigned index = warp * kLanes + other;
      complete &= index < threads_.size() && threads_[index].wait == Wait::kWarp &&
                  threads_[index].mask == first.mask &&
                  threads_[index].exchanges == first.exchanges;
    }
    if (!complete) continue;
    for (unsigned other = 0; other < kLanes; ++other) {
      if ((first.mask >> other & 1) != 0) threads_[warp * kLanes + other].wait = Wait::kNone;
    }
    released = true;
  }
  return released;
}

std::string Block::Stuck() const {
  unsigned at_block = 0, at_warp = 0, done = 0;
  for (const Thread& thread : threads_) {
    at_block += thread.wait == Wait::kBlock;
    at_warp += thread.wait == Wait::kWarp;
    done += thread.wait == Wait::kDone;
  }
  std::ostringstream text;
  text << "block " << threads_[0].here.block.x << " is stuck: " << at_block
       << " threads wait at a barrier of the block, " << at_warp
       << " at one of the warp or in a shuffle, " << done << " have ended";
  return text.str();
}

}  // namespace

const Coordinates& Here() { return running->current().here; }

unsigned Lane() { return Here().thread.x % kLanes; }

std::string Launch(unsigned blocks, unsigned threads, const std::function<void()>& body) {
  for (unsigned index = 0; index < blocks; ++index) {
    Block block(index, blocks, threads, body);
    running = &block;
    const std::string fault = block.Run();
    running = nullptr;
    if (!fault.empty()) return fault;
  }
  return {};
}

Buffer::Buffer(const void* data, std::int64_t bytes) : data_(data) {
  if (data != nullptr) Buffers()[static_cast<const char*>(data)] = bytes;
}

Buffer::~Buffer() { Buffers().erase(static_cast<const char*>(data_)); }

void CheckAccess(const void* address, std::size_t bytes, std::size_t alignment) {
  const char* at = static_cast<const char*>(address);
  if (reinterpret_cast<std::uintptr_t>(at) % alignment != 0) {
    running->Fail("a misaligned access of " + std::to_string(bytes) + " bytes");
  }
  auto after = Buffers().upper_bound(at);
  if (after != Buffers().begin()) {
    const auto& [begin, size] = *std::prev(after);
    if (at + bytes <= begin + size) return;
  }
  running->Fail("an access of " + std::to_string(bytes) + " bytes outside every buffer");
}

void SyncThreads() { running->Yield(Wait::kBlock); }

std::uint64_t Exchange(unsigned mask, std::uint64_t value, unsigned from) {
  Thread& self = running->current();
  const unsigned lane = Lane();
  if ((mask >> lane & 1) == 0 || (mask >> from & 1) == 0) {
    running->Fail("a shuffle with a lane outside its mask");
  }
  Warp& warp = running->warp();
  const unsigned generation = self.exchanges % 2;
  warp.posted[generation][lane] = value;
  self.mask = mask;
  ++self.exchanges;
  running->Yield(Wait::kWarp);
  return warp.posted[generation][from];
}

}  // namespace normlab::kernels::simt
