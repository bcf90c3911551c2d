// Where a run's records go: frames to the worker's pipe, or an attempt log of its own and the
// terminal.
#ifndef NORMLAB_MODEL_RECORD_SINK_H_
#define NORMLAB_MODEL_RECORD_SINK_H_

#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "core/attempt_log.h"
#include "core/frame.h"
#include "core/record.h"

namespace normlab::model {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual absl::Status Write(const Record& record) = 0;
  // Returns when everything written so far is as durable as this sink makes it.
  virtual absl::Status Sync() = 0;
};

// Frames on a pipe. The worker at the other end makes them durable.
class FrameSink : public RecordSink {
 public:
  explicit FrameSink(int fd) : writer_(fd) {}
  absl::Status Write(const Record& record) override;
  absl::Status Sync() override { return absl::OkStatus(); }

 private:
  FrameWriter writer_;
};

// An attempt log in a folder, and a line on `terminal` for what people want to see.
class LogSink : public RecordSink {
 public:
  static absl::StatusOr<std::unique_ptr<LogSink>> Open(const std::string& dir, int64_t steps,
                                                       std::FILE* terminal);
  absl::Status Write(const Record& record) override;
  absl::Status Sync() override { return log_->Sync(); }

 private:
  LogSink(std::unique_ptr<AttemptLogWriter> log, int64_t steps, std::FILE* terminal)
      : log_(std::move(log)), steps_(steps), terminal_(terminal) {}
  void Show(const Record& record);

  std::unique_ptr<AttemptLogWriter> log_;
  int64_t steps_;
  std::FILE* terminal_;
};

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_RECORD_SINK_H_
