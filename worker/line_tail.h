#ifndef NORMLAB_WORKER_LINE_TAIL_H_
#define NORMLAB_WORKER_LINE_TAIL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace normlab::worker {

// Cuts what a process prints into lines, hands each on and remembers the last ones. One thread.
class LineTail {
 public:
  static constexpr size_t kKeptLines = 200;
  // A longer line is cut into pieces of this size: a progress bar without line ends stays bounded.
  static constexpr size_t kMaxLineBytes = 4096;

  explicit LineTail(std::function<void(std::string_view line)> on_line)
      : on_line_(std::move(on_line)) {}

  void Feed(std::string_view bytes);
  // What came after the last line end is a line too.
  void End();

  std::vector<std::string> LastLines() const { return {lines_.begin(), lines_.end()}; }

 private:
  void Emit();
  const std::function<void(std::string_view)> on_line_;
  std::string pending_;
  std::deque<std::string> lines_;
};

}  // namespace normlab::worker

#endif  // NORMLAB_WORKER_LINE_TAIL_H_
