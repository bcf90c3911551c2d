// A SentencePiece model: learned from text, and applied to it. The only file that knows the
// library; it is linked into normlab-tokenizer alone, since it brings a protobuf of its own, under
// the same names as the one of gRPC in normlab.
//
// Errors are std::runtime_error with one line: this program is built without Abseil for the same
// reason.
#ifndef NORMLAB_CLI_TOKENIZER_MODEL_H_
#define NORMLAB_CLI_TOKENIZER_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/tokenizer/text_reader.h"

namespace normlab::tokenizer {

// Learns a byte-pair vocabulary of `vocab` entries and writes the model to `path`. Text comes back
// as it was: no normalisation, spaces and line ends kept, bytes for characters that are too rare.
// The same text gives the same model. At most 32 MiB are read, in stretches spread evenly.
void Learn(const std::vector<Span>& text, int64_t vocab, const std::string& path);

class Model {
 public:
  static Model Load(const std::string& path);
  Model(Model&&) noexcept;
  ~Model();

  int64_t vocab() const;
  // Appends the ids of `text`, a line or a piece of one.
  void Encode(std::string_view text, std::vector<int>& ids) const;
  std::string Decode(const std::vector<int>& ids) const;
  // Whether the token ends a line, so that decoding may be cut behind it.
  bool EndsLine(int id) const;

 private:
  class Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace normlab::tokenizer

#endif  // NORMLAB_CLI_TOKENIZER_MODEL_H_
