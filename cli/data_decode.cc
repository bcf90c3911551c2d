#include <algorithm>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "cli/data.h"
#include "cli/sentence_piece.h"
#include "cli/siblings.h"
#include "core/dataset.h"
#include "core/file.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab::cli {
namespace {

struct DecodeArguments {
  std::string name;
  std::string split = "train";
  int64_t from = 0;
  int64_t count = 0;
};

absl::Status Decode(Context& context, const DecodeArguments& arguments) {
  ASSIGN_OR_RETURN(const DataFolder folder, FolderOf(context));
  const std::string dir = folder.Dataset(arguments.name);
  ASSIGN_OR_RETURN(const DatasetMeta meta, ReadDatasetMeta(dir));
  ASSIGN_OR_RETURN(const TokenFile file, TokenFile::Open(JoinPath(dir, arguments.split + ".bin")));
  if (arguments.from > file.tokens()) {
    return InvalidArgument("--from ", arguments.from, ": ", arguments.split, " has ", file.tokens(),
                           " tokens");
  }
  int64_t at = arguments.from;
  const int64_t end =
      arguments.count == 0 ? file.tokens() : std::min(file.tokens(), at + arguments.count);
  const auto next = [&]() -> absl::StatusOr<std::vector<uint16_t>> {
    const int64_t count = std::min(kDecodeTokens, end - at);
    at += count;
    return file.Read(at - count, count);
  };
  const auto print = [&context](std::string_view text) { *context.out << text; };
  if (meta.tokenizer == kSentencePieceTokenizer) {
    return DecodeSentencePiece(TokenizerPath(context.program), JoinPath(dir, kTokenizerModelFile),
                               next, print);
  }
  if (meta.tokenizer != kBytesTokenizer) {
    return InvalidArgument("data set ", arguments.name,
                           " was made of token files, whose text nobody here knows");
  }
  while (at < end) {
    ASSIGN_OR_RETURN(const std::vector<uint16_t> tokens, next());
    for (const uint16_t token : tokens) *context.out << static_cast<char>(token);
  }
  return absl::OkStatus();
}

}  // namespace

void AddDataDecode(CLI::App* data, Context& context) {
  CLI::App* verb = AddSubcommand(*data, "decode", "Print the text of a data set's tokens",
                                 {"normlab data decode kjv --split val --count 500"});
  AddServerOptions(verb, context);
  auto arguments = std::make_shared<DecodeArguments>();
  verb->add_option("NAME", arguments->name, "data set")->required();
  verb->add_option("--split", arguments->split, "train or val (default: train)")
      ->check(CLI::IsMember({"train", "val"}));
  verb->add_option("--from", arguments->from, "first token (default: 0)")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--count", arguments->count, "tokens (default: all)")
      ->check(CLI::NonNegativeNumber);
  verb->callback([&context, arguments] {
    if (absl::Status status = Decode(context, *arguments); !status.ok()) Fail(context, status);
  });
}

}  // namespace normlab::cli
