#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_replace.h"
#include "cli/verbs.h"
#include "core/knob.h"
#include "core/strings.h"

namespace normlab::cli {
namespace {

struct VerbWords {
  std::string name;
  std::string summary;
  std::vector<std::string> options;  // long ones, with dashes
};

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<std::string> LongOptions(const CLI::App* verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The words are read off the program itself, so that completion never lags behind it. Verbs of a
// verb ("data ls") complete as its first argument.
std::vector<VerbWords> Collect(const CLI::App& app) {
  std::vector<VerbWords> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    VerbWords words{verb->get_name(), FirstLine(verb->get_description()), LongOptions(verb)};
    for (const CLI::App* inner : verb->get_subcommands([](const CLI::App*) { return true; })) {
      words.options.push_back(inner->get_name());
    }
    verbs.push_back(std::move(words));
  }
  return verbs;
}

std::string KnobWords() {
  std::vector<std::string> words;
  for (const Knob& knob : Knobs()) words.push_back(Cat(knob.key, "="));
  return Join(words, " ");
}

std::string VerbNames(const std::vector<VerbWords>& verbs) {
  std::vector<std::string> names;
  for (const VerbWords& verb : verbs) names.push_back(verb.name);
  return Join(names, " ");
}

std::string Bash(const std::vector<VerbWords>& verbs) {
  std::string cases;
  for (const VerbWords& verb : verbs) {
    cases += Cat("    ", verb.name, ") words=\"", Join(verb.options, " "), "\" ;;\n");
  }
  return Cat(
      "_normlab() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" "
      "words=\"\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"",
      VerbNames(verbs),
      "\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  if [ \"$before\" = -S ] || [ \"$before\" = --set ]; then\n"
      "    compopt -o nospace\n"
      "    COMPREPLY=($(compgen -W \"",
      KnobWords(),
      "\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${COMP_WORDS[1]}\" in\n",
      cases,
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\"))\n"
      "}\n"
      "complete -F _normlab normlab\n");
}

std::string Zsh(const std::vector<VerbWords>& verbs) {
  std::string names;
  std::string cases;
  for (const VerbWords& verb : verbs) {
    names += Cat("    '", verb.name, ":", absl::StrReplaceAll(verb.summary, {{"'", ""}, {":", ""}}),
                 "'\n");
    cases += Cat("    ", verb.name, ") compadd -- ", Join(verb.options, " "), " ;;\n");
  }
  return Cat(
      "#compdef normlab\n"
      "_normlab() {\n"
      "  local -a verbs=(\n",
      names,
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  if [[ ${words[CURRENT-1]} == (-S|--set) ]]; then\n"
      "    compadd -S '' -- ",
      KnobWords(),
      "\n"
      "    return\n"
      "  fi\n"
      "  case ${words[2]} in\n",
      cases,
      "  esac\n"
      "  _files\n"
      "}\n"
      "compdef _normlab normlab\n");
}

std::string Fish(const std::vector<VerbWords>& verbs) {
  std::string text = "complete -c normlab -f\n";
  for (const VerbWords& verb : verbs) {
    text += Cat("complete -c normlab -n __fish_use_subcommand -a ", verb.name, " -d '",
                absl::StrReplaceAll(verb.summary, {{"'", ""}}), "'\n");
    for (const std::string& option : verb.options) {
      const bool dashed = option[0] == '-';
      text += Cat("complete -c normlab -n '__fish_seen_subcommand_from ", verb.name,
                  dashed ? "' -l " : "' -a ", dashed ? option.substr(2) : option, "\n");
    }
  }
  text += Cat("complete -c normlab -n '__fish_seen_subcommand_from submit' -s S -x -a '",
              KnobWords(), "'\n");
  return text;
}

}  // namespace

void AddCompletion(CLI::App& app, Context& context) {
  CLI::App* verb =
      AddSubcommand(app, "completion", "Print a completion script for a shell",
                    {"source <(normlab completion bash)",
                     "normlab completion fish > ~/.config/fish/completions/normlab.fish"});
  auto shell = std::make_shared<std::string>();
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->callback([&app, &context, shell] {
    const std::vector<VerbWords> verbs = Collect(app);
    *context.out << (*shell == "bash" ? Bash(verbs) : *shell == "zsh" ? Zsh(verbs) : Fish(verbs));
  });
}

}  // namespace normlab::cli
