#include "worker/line_tail.h"

#include <algorithm>
#include <utility>

namespace normlab::worker {

void LineTail::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t room = kMaxLineBytes - pending_.size();
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const size_t taken = std::min(end, room);
    pending_.append(bytes.substr(0, taken));
    const bool at_line_end = taken == end && end < bytes.size();
    bytes.remove_prefix(taken + (at_line_end ? 1 : 0));
    if (at_line_end || pending_.size() == kMaxLineBytes) Emit();
  }
}

void LineTail::End() {
  if (!pending_.empty()) Emit();
}

void LineTail::Emit() {
  if (!pending_.empty() && pending_.back() == '\r') pending_.pop_back();
  on_line_(pending_);
  lines_.push_back(std::exchange(pending_, {}));
  if (lines_.size() > kKeptLines) lines_.pop_front();
}

}  // namespace normlab::worker
