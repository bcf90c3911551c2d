#ifndef NORMLAB_CORE_DATASET_PREPARE_H_
#define NORMLAB_CORE_DATASET_PREPARE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset.h"

namespace normlab {

class TextEncoder;

struct PrepareProgress {
  int64_t bytes_done = 0;
  int64_t bytes_total = 0;
};

struct PrepareOptions {
  std::string name;  // letters, digits, '-', '_', '.'; not starting with a dot
  std::string datasets_dir;
  std::vector<std::string> files;  // text, or token files (nanoGPT or llm.c .bin)
  // The validation set, of the same kind; empty: the last 5 % of `files`, in whole tokens.
  std::vector<std::string> val_files;
  // Of token files (that of text follows from its tokenizer). 0: one above the largest token.
  int64_t vocab = 0;
  TextEncoder* encoder = nullptr;                        // null: text is taken as bytes
  bool replace = false;                                  // an existing data set of that name
  std::function<void(const PrepareProgress&)> progress;  // may be empty; called about every MiB
};

// Makes datasets_dir/name out of text or token files, in constant memory; whole or not at all (it
// is built beside and renamed; what a killed process left beside is removed by the next one). Files
// that end in ".bin" are token files: llm.c's are known by their magic, others are bare
// little-endian uint16 (nanoGPT); any other file is text. Errors, one line each: AlreadyExists,
// NotFound, and InvalidArgument for an empty file, a mixture of text and tokens, an odd or wrong
// length, a header that lies, a token beyond the vocabulary, too little text for a split.
absl::StatusOr<DatasetMeta> PrepareDataset(const PrepareOptions& options);

}  // namespace normlab

#endif  // NORMLAB_CORE_DATASET_PREPARE_H_
