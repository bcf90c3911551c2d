// normlab-tokenizer: what `normlab data` runs to turn text into SentencePiece's tokens and back.
//
//   normlab-tokenizer learn MODEL VOCAB SPAN…   a new model from text
//   normlab-tokenizer vocab MODEL               how many entries it has, on standard output
//   normlab-tokenizer encode MODEL SPAN…        tokens to standard output, in frames
//   normlab-tokenizer decode MODEL              uint16 from standard input, text to standard output
//
// A SPAN is three arguments, FILE FIRST LAST: the bytes [FIRST, LAST) of the file. A frame is how
// many bytes of text it stands for (uint32), how many tokens follow (uint32), and these (uint16);
// all numbers are little-endian. An error is one line on standard error and exit code 2.

#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/tokenizer/model.h"
#include "cli/tokenizer/text_reader.h"
#include "core/little_endian.h"

namespace normlab::tokenizer {
namespace {

constexpr size_t kFrameBytes = 256 << 10;  // of text, before a frame is sent
constexpr size_t kMaxVocab = 65536;

std::vector<Span> ParseSpans(const std::vector<std::string>& arguments, size_t from) {
  std::vector<Span> spans;
  if (from >= arguments.size() || (arguments.size() - from) % 3 != 0) {
    throw std::runtime_error("a span is FILE FIRST LAST");
  }
  for (size_t i = from; i < arguments.size(); i += 3) {
    spans.push_back({arguments[i], std::stoll(arguments[i + 1]), std::stoll(arguments[i + 2])});
  }
  return spans;
}

void Print(const std::string& bytes) {
  if (fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || fflush(stdout) != 0) {
    throw std::runtime_error("nobody reads what is written");
  }
}

Model LoadSmall(const std::string& path) {
  Model model = Model::Load(path);
  if (static_cast<size_t>(model.vocab()) <= kMaxVocab) return model;
  throw std::runtime_error(path + ": a vocabulary of " + std::to_string(model.vocab()) +
                           " is more than the 65536 that 16-bit tokens can tell apart");
}

void PrintFrame(size_t text_bytes, const std::vector<int>& ids) {
  std::string frame;
  PutLittleEndian(frame, static_cast<uint32_t>(text_bytes));
  PutLittleEndian(frame, static_cast<uint32_t>(ids.size()));
  for (const int id : ids) PutLittleEndian(frame, static_cast<uint16_t>(id));
  Print(frame);
}

void Encode(const std::string& path, const std::vector<Span>& spans) {
  const Model model = LoadSmall(path);
  LineReader reader(spans);
  std::vector<int> ids;
  size_t text_bytes = 0;
  for (std::string line; reader.Next(line);) {
    model.Encode(line, ids);
    text_bytes += line.size();
    if (text_bytes < kFrameBytes) continue;
    PrintFrame(text_bytes, ids);
    ids.clear();
    text_bytes = 0;
  }
  if (text_bytes > 0) PrintFrame(text_bytes, ids);
}

// Lines are decoded one at a time, as they were encoded.
void Decode(const std::string& path) {
  const Model model = LoadSmall(path);
  std::vector<int> ids;
  char token[2];
  while (fread(token, 1, 2, stdin) == 2) {
    const int id = GetLittleEndian<uint16_t>(token);
    if (id >= model.vocab()) {
      throw std::runtime_error("token " + std::to_string(id) + " is beyond the vocabulary of " +
                               std::to_string(model.vocab()));
    }
    ids.push_back(id);
    if (!model.EndsLine(id) && ids.size() < kLongestLine) continue;
    Print(model.Decode(ids));
    ids.clear();
  }
  if (!ids.empty()) Print(model.Decode(ids));
}

void Run(const std::vector<std::string>& arguments) {
  const std::string verb = arguments.size() > 1 ? arguments[0] : "";
  if (verb == "learn" && arguments.size() > 2) {
    Learn(ParseSpans(arguments, 3), std::stoll(arguments[2]), arguments[1]);
  } else if (verb == "vocab") {
    Print(std::to_string(LoadSmall(arguments[1]).vocab()) + "\n");
  } else if (verb == "encode") {
    Encode(arguments[1], ParseSpans(arguments, 2));
  } else if (verb == "decode") {
    Decode(arguments[1]);
  } else {
    throw std::runtime_error("learn, vocab, encode or decode, and a model");
  }
}

}  // namespace
}  // namespace normlab::tokenizer

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever wanted the tokens is gone
  try {
    normlab::tokenizer::Run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
