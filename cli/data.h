// The parts of `normlab data`, one file each.
#ifndef NORMLAB_CLI_DATA_H_
#define NORMLAB_CLI_DATA_H_

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "cli/context.h"
#include "core/data_folder.h"

namespace normlab::cli {

// --data, else as core/data_folder.h says.
absl::StatusOr<DataFolder> FolderOf(const Context& context);

// Data sets as ToJson(DatasetMeta) gives them, in the chosen mode.
void PrintDatasets(Context& context, nlohmann::json rows);

void AddDataPrepare(CLI::App* data, Context& context);
void AddDataDecode(CLI::App* data, Context& context);

}  // namespace normlab::cli

#endif  // NORMLAB_CLI_DATA_H_
