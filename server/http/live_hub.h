#ifndef NORMLAB_SERVER_HTTP_LIVE_HUB_H_
#define NORMLAB_SERVER_HTTP_LIVE_HUB_H_

// Asio of Boost 1.74 uses std::exchange without including it.
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "core/ids.h"

namespace normlab::server {

// What changed since a stream was last told.
struct LiveChange {
  std::set<SweepId> sweeps;
  std::set<RunId> runs;

  bool empty() const { return sweeps.empty() && runs.empty(); }
  void Merge(const LiveChange& other);
  // The event as it stands in a text/event-stream.
  std::string ToEvent() const;
};

// Passes changes on to every live stream, collected over `interval`. A stream that is slow to send
// does not queue: what it has not been told yet is a set, so that it can only grow to the number of
// runs there are. All but Announce belong to the thread of the io_context.
class LiveHub {
 public:
  // One stream's mailbox: `pending` is filled and `wake` cancelled when there is news, or when the
  // hub closes.
  struct Subscriber {
    explicit Subscriber(boost::asio::io_context& io) : wake(io) {}
    LiveChange pending;
    boost::asio::steady_timer wake;
    bool closed = false;
  };

  LiveHub(boost::asio::io_context& io, absl::Duration interval);

  void Add(Subscriber& subscriber);
  void Remove(Subscriber& subscriber);
  int size() const { return static_cast<int>(subscribers_.size()); }

  // Any thread.
  void Announce(LiveChange change);

  // Wakes every stream for good.
  void Close();

 private:
  void Collect(const LiveChange& change);
  void Flush();

  boost::asio::io_context& io_;
  const absl::Duration interval_;
  std::set<Subscriber*> subscribers_;
  LiveChange collected_;
  boost::asio::steady_timer flush_timer_;
  bool flush_due_ = false;
  bool closed_ = false;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_LIVE_HUB_H_
