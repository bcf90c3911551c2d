#ifndef NORMLAB_CLI_VERBS_H_
#define NORMLAB_CLI_VERBS_H_

#include "cli/context.h"

namespace normlab::cli {

// One function per verb, each in a file named after it; main registers them in this order, which
// is the order of `normlab --help`.
void AddServe(CLI::App& app, Context& context);
void AddWorker(CLI::App& app, Context& context);
void AddSubmit(CLI::App& app, Context& context);
void AddLs(CLI::App& app, Context& context);
void AddShow(CLI::App& app, Context& context);
void AddRuns(CLI::App& app, Context& context);
void AddWatch(CLI::App& app, Context& context);
void AddLogs(CLI::App& app, Context& context);
void AddEvents(CLI::App& app, Context& context);
void AddExplain(CLI::App& app, Context& context);
void AddCancel(CLI::App& app, Context& context);
void AddCompare(CLI::App& app, Context& context);
void AddDivergence(CLI::App& app, Context& context);
void AddQuery(CLI::App& app, Context& context);
void AddExport(CLI::App& app, Context& context);
void AddData(CLI::App& app, Context& context);
void AddConfig(CLI::App& app, Context& context);
void AddDoctor(CLI::App& app, Context& context);
void AddCompletion(CLI::App& app, Context& context);
void AddOpen(CLI::App& app, Context& context);

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_VERBS_H_
