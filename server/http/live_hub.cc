#include "server/http/live_hub.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "core/json.h"
#include "nlohmann/json.hpp"

namespace normlab::server {

void LiveChange::Merge(const LiveChange& other) {
  sweeps.insert(other.sweeps.begin(), other.sweeps.end());
  runs.insert(other.runs.begin(), other.runs.end());
}

std::string LiveChange::ToEvent() const {
  nlohmann::json document = {{"sweeps", nlohmann::json::array()},
                             {"runs", nlohmann::json::array()}};
  for (const SweepId id : sweeps) document["sweeps"].push_back(ToString(id));
  for (const RunId id : runs) document["runs"].push_back(ToString(id));
  return "event: change\ndata: " + DumpStrict(document) + "\n\n";
}

LiveHub::LiveHub(boost::asio::io_context& io, absl::Duration interval)
    : io_(io), interval_(interval), flush_timer_(io) {}

void LiveHub::Add(Subscriber& subscriber) {
  subscribers_.insert(&subscriber);
  subscriber.closed = closed_;
}

void LiveHub::Remove(Subscriber& subscriber) { subscribers_.erase(&subscriber); }

void LiveHub::Announce(LiveChange change) {
  if (change.empty()) return;
  boost::asio::post(io_, [this, change = std::move(change)] { Collect(change); });
}

void LiveHub::Collect(const LiveChange& change) {
  if (closed_) return;
  collected_.Merge(change);
  if (flush_due_) return;
  // The first change after a quiet time goes out at once; the interval then keeps the next ones.
  Flush();
}

void LiveHub::Flush() {
  flush_due_ = false;
  if (collected_.empty() || closed_) return;
  for (Subscriber* subscriber : subscribers_) {
    subscriber->pending.Merge(collected_);
    subscriber->wake.cancel();
  }
  collected_ = {};
  flush_due_ = true;
  flush_timer_.expires_after(absl::ToChronoNanoseconds(interval_));
  flush_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Flush();
  });
}

void LiveHub::Close() {
  closed_ = true;
  flush_timer_.cancel();
  for (Subscriber* subscriber : subscribers_) {
    subscriber->closed = true;
    subscriber->wake.cancel();
  }
}

}  // namespace normlab::server
