// Being told to end. SIGTERM and SIGUSR1 (Slurm's warning), and Ctrl-C on a terminal, ask for a
// checkpoint and a clean end; the handler only sets a flag, which the training loop reads once a
// step. A trainer that a worker started also ends when the worker does.
#ifndef NORMLAB_MODEL_STOP_SIGNAL_H_
#define NORMLAB_MODEL_STOP_SIGNAL_H_

namespace normlab::model {

// Installs the handlers and ignores SIGPIPE. Call once, before any thread starts.
void InstallStopSignals();

// True once a stop was asked for. Thread-safe.
bool StopRequested();

// Ends this process, without a checkpoint, when the parent dies: the kernel is asked for a signal,
// and a thread watches `pipe_fd`, whose reading end only the parent holds. The second catches what
// the first cannot: a parent that died before we asked.
void EndWithParent(int pipe_fd);

}  // namespace normlab::model

#endif  // NORMLAB_MODEL_STOP_SIGNAL_H_
