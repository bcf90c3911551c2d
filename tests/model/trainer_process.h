// A real normlab-trainer as a worker starts it: an envelope in a file, records on a pipe, signals.
#ifndef NORMLAB_TESTS_MODEL_TRAINER_PROCESS_H_
#define NORMLAB_TESTS_MODEL_TRAINER_PROCESS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/envelope.h"
#include "core/frame.h"
#include "core/record.h"
#include "core/subprocess.h"
#include "tests/builders/temp_dir.h"

namespace normlab::model {

// What a worker would hand over for this config: data set and checkpoints in `dir`.
Envelope EnvelopeFor(const RunConfig& config, const TempDir& dir);

class TrainerProcess {
 public:
  explicit TrainerProcess(const Envelope& envelope,
                          const std::map<std::string, std::string>& environment = {});
  ~TrainerProcess();

  // The next record, waited for; empty once the process has closed its end.
  std::optional<Record> Next();
  // Reads on until a record of type T for which `wanted` holds; CHECKs that it comes.
  template <typename T, typename Predicate>
  T Await(const Predicate& wanted) {
    while (true) {
      const std::optional<Record> record = Next();
      CHECK(record.has_value()) << "the trainer ended: " << Errors();
      const T* found = std::get_if<T>(&*record);
      if (found != nullptr && wanted(*found)) return *found;
    }
  }

  // Halts the process and returns the last step that it finished: nothing it wrote is left unread.
  int64_t HaltAndReadStep();
  void Signal(int signal);
  // Waits for its end.
  ExitInfo Wait();
  // What it wrote to its standard error.
  std::string Errors() const;
  int64_t last_step() const { return last_step_; }

 private:
  // Reads what is there; false at the end of the pipe. `blocking`: waits for at least one byte.
  bool Read(bool blocking);
  std::optional<Record> Take();

  TempDir dir_;
  int pipe_ = -1;
  std::unique_ptr<Subprocess> process_;
  FrameParser parser_;
  int64_t last_step_ = 0;
};

}  // namespace normlab::model

#endif  // NORMLAB_TESTS_MODEL_TRAINER_PROCESS_H_
