#ifndef NORMLAB_SERVER_HTTP_METRICS_H_
#define NORMLAB_SERVER_HTTP_METRICS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace normlab::server {

// A number as of now, taken when somebody asks for /metrics: runs by state, connected workers …
struct GaugeSample {
  std::string name;  // "normlab_runs"
  std::string help;
  std::map<std::string, std::string> labels;
  double value = 0;
};

// What /metrics says, in the text format of Prometheus. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Counts one answered request by its status, and the time that its document took to make.
  void OnReply(int status, absl::Duration duration);
  void SetLiveStreams(int streams);

  // Everything above, then `samples`.
  std::string Text(const std::vector<GaugeSample>& samples) const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_METRICS_H_
