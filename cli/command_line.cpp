#include "cli/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <limits>
#include <string_view>

#include "cli/terminal_text.hpp"

namespace quench {

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::placeholder(const std::string& word) {
  option_->type_name(word);
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::between(int64_t least, int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option Option::whole_number() {
  option_->check([](const std::string& text) {
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    return digits && text.size() <= std::numeric_limits<uint64_t>::digits10
               ? ""
               : "got " + text + ", wanted a whole number from 0";
  });
  return *this;
}

Option Option::bytes() {
  option_->transform(CLI::AsSizeValue(true))->type_name("BYTES");
  return *this;
}

Option Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

template <typename T>
Option Verb::option(const std::string& names, T& to, const std::string& help) {
  CLI::Option* option = app_->add_option(names, to, help);
  option->check([](const std::string& text) {  // of a variable of the shell that is not set
    return text.empty() ? std::string("got nothing, wanted a value") : std::string();
  });
  return Option(option);
}
template Option Verb::option(const std::string&, std::string&, const std::string&);
template Option Verb::option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Verb::option(const std::string&, int&, const std::string&);
template Option Verb::option(const std::string&, int64_t&, const std::string&);
template Option Verb::option(const std::string&, unsigned&, const std::string&);
template Option Verb::option(const std::string&, uint64_t&, const std::string&);
template Option Verb::option(const std::string&, double&, const std::string&);

Option Verb::flag(const std::string& name, bool& to, const std::string& help) {
  return Option(app_->add_flag(name, to, help));
}

Option Verb::json(const std::string& help) {
  return Option(app_->add_flag("--json", help));
}

void Verb::exclusive(const std::vector<Option>& options) {
  for (size_t i = 0; i < options.size(); ++i) {
    for (size_t j = 0; j < options.size(); ++j) {
      if (i != j) {
        options[i].option_->excludes(options[j].option_);
      }
    }
  }
}

void Verb::examples(const std::vector<std::string>& lines) {
  app_->footer(fmt::format("\nExamples:\n  {}", fmt::join(lines, "\n  ")));
}

Verb Verb::verb(const std::string& name, const std::string& help) {
  app_->require_subcommand(0, 1);
  app_->fallthrough();
  return Verb(app_->add_subcommand(name, help), chosen_);
}

void Verb::does(std::function<int()> work) {
  app_->callback([app = app_, chosen = chosen_, work = std::move(work)] {
    if (app->get_subcommands().empty()) {
      *chosen = work;
    }
  });
}

CommandLine::CommandLine(const std::string& program, const std::string& help,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(help, program)), version_(version) {
  app_->set_version_flag("-V,--version", version);
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Verb CommandLine::verb(const std::string& name, const std::string& help, const std::string& group) {
  CLI::App* added = app_->add_subcommand(name, help);
  added->group(group);
  return Verb(added, &chosen_);
}

void CommandLine::sections(std::vector<std::pair<std::string, std::string>> sections) {
  sections_ = std::move(sections);
  std::string text;
  for (const auto& [title, body] : sections_) {
    text += fmt::format("\n{}:\n{}", title, body);
  }
  app_->footer(text);
}

namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// "-o", "--out", without those that --help adds.
std::vector<std::string> flags_of(const CLI::App& verb) {
  std::vector<std::string> out;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_snames()) {
      out.push_back("-" + name);
    }
    for (const std::string& name : option->get_lnames()) {
      out.push_back("--" + name);
    }
  }
  return out;
}

std::string heading(std::string title) {
  std::transform(title.begin(), title.end(), title.begin(), ::toupper);
  return title;
}

// A line that roff does not take for a request, with its backslashes and dashes.
std::string roff(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (text[i] == '.' || text[i] == '\'')) {
      out += "\\&";
    }
    out += text[i] == '\\'  ? std::string("\\e")
           : text[i] == '-' ? std::string("\\-")
                            : std::string(1, text[i]);
  }
  return out;
}

std::string man_options(const CLI::App& verb) {
  std::string out;
  for (const CLI::Option* option : verb.get_options()) {
    const bool by_place = option->get_positional();
    const std::string name =
        by_place ? option->get_name(true, false) : option->get_name(false, true);
    const std::string value =
        by_place || option->get_type_size() == 0 ? "" : " " + option->get_type_name();
    out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(name), roff(value),
                       roff(option->get_description()));
  }
  return out;
}

}  // namespace

std::string CommandLine::man_page() const {
  std::string out = fmt::format(
      ".TH QUENCH 1 \"\" \"{}\"\n.SH NAME\nquench \\- {}\n.SH SYNOPSIS\n\\fBquench\\fR "
      "\\fIverb\\fR "
      "[\\fIoptions\\fR]\n",
      roff(version_), roff(app_->get_description()));
  std::string group;
  for (const CLI::App* verb : verbs_of(*app_)) {
    if (verb->get_group() != group) {
      group = verb->get_group();
      out += fmt::format(".SH {}\n", roff(heading(group)));
    }
    out += fmt::format(".SS quench {}\n{}\n{}", roff(verb->get_name()),
                       roff(verb->get_description()), man_options(*verb));
    if (const std::string examples = verb->get_footer(); !examples.empty()) {
      out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(examples.substr(1)));
    }
  }
  for (const auto& [title, body] : sections_) {
    out += fmt::format(".SH {}\n.nf\n{}\n.fi\n", roff(heading(title)), roff(body));
  }
  return out;
}

std::string CommandLine::completion(const std::string& shell) const {
  std::vector<std::string> names;
  std::string cases;
  std::string fish;
  for (const CLI::App* verb : verbs_of(*app_)) {
    names.push_back(verb->get_name());
    std::vector<std::string> words = flags_of(*verb);
    for (const CLI::App* own : verbs_of(*verb)) {
      words.push_back(own->get_name());
      fish += fmt::format("complete -c quench -n '__fish_seen_subcommand_from {}' -a {}\n",
                          verb->get_name(), own->get_name());
    }
    cases += fmt::format("    {}) words='{}' ;;\n", verb->get_name(), fmt::join(words, " "));
    std::string help = verb->get_description();
    std::erase(help, '\'');
    fish += fmt::format("complete -c quench -n __fish_use_subcommand -a {} -d '{}'\n",
                        verb->get_name(), help);
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        fish += fmt::format("complete -c quench -n '__fish_seen_subcommand_from {}' -l {}\n",
                            verb->get_name(), name);
      }
    }
  }
  if (shell == "fish") {
    return fish;
  }
  const std::string start =
      shell == "zsh" ? "#compdef quench\nautoload -Uz bashcompinit && bashcompinit\n" : "";
  return fmt::format(
      "{}_quench() {{\n"
      "  local words here=\"${{COMP_WORDS[COMP_CWORD]}}\"\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}    *) words='{}' ;;\n  esac\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || words='{}'\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$here\") $(compgen -f -- \"$here\"))\n"
      "}}\n"
      "complete -o filenames -F _quench quench\n",
      start, cases, fmt::join(names, " "), fmt::join(names, " "));
}

namespace {

// What follows an option on the command line, "" if that is no value.
std::string value_of(const std::string& option, const std::vector<const char*>& typed) {
  if (const size_t equals = option.find('='); equals != std::string::npos) {
    return option.substr(equals + 1);
  }
  const auto found = std::find(typed.begin(), typed.end(), option);
  return found != typed.end() && found + 1 != typed.end() && **(found + 1) != '-' ? *(found + 1)
                                                                                  : "";
}

// An option whose choices have the word: "--table latex" of "latex"; "" if there is none.
std::string that_takes(const CLI::App& verb, const std::string& word) {
  for (const CLI::Option* each : verb.get_options()) {
    const std::string choices = each->get_type_name();  // "... {md,latex,text}"
    const size_t at = word.empty() ? std::string::npos : choices.find(word);
    if (at != std::string::npos && at > 0 && (choices[at - 1] == '{' || choices[at - 1] == ',') &&
        (choices[at + word.size()] == ',' || choices[at + word.size()] == '}')) {
      return each->get_name() + " " + word;
    }
    const auto& names = each->get_lnames();
    if (std::find(names.begin(), names.end(), word) != names.end()) {  // --format csv
      return "--" + word;
    }
  }
  return "";
}

// "unknown option --tsk; did you mean --task?", or "" if every word was expected.
std::string unexpected_word(const CLI::App& verb, const std::vector<const char*>& typed) {
  std::vector<std::string> words = verb.remaining(true);
  if (words.empty()) {
    return "";
  }
  const auto option = std::find_if(words.begin(), words.end(),
                                   [](const std::string& word) { return word.starts_with('-'); });
  if (option == words.end()) {
    return "unexpected argument " + printable(words.front());
  }
  const std::string name = option->substr(0, option->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* each : verb.get_options()) {
    for (const std::string& word : each->get_lnames()) {
      known.push_back("--" + word);
    }
  }
  std::string near = nearest(name, known);
  if (near.empty()) {
    near = that_takes(verb, value_of(*option, typed));
  }
  return fmt::format("unknown option {}{}", printable(name),
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

// The parser's complaint as one line that points to --help. What is not expected comes before what
// is missing: it is often the same thing under another name.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error,
                          const std::vector<const char*>& typed) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "quench" : "quench " + chosen[0]->get_name();
  const bool incomplete = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr ||
                          dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string unexpected =
      incomplete ? unexpected_word(chosen.empty() ? app : *chosen.back(), typed) : "";
  if (!unexpected.empty()) {
    return fmt::format("{}: {}; see `{} --help`", command, unexpected, command);
  }
  return fmt::format("{}: {}; see `{} --help`", command, error.what(), command);
}

// "" if the first word is a verb or an option.
std::string unknown_verb_message(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-' || std::string_view(argv[1]) == "help") {
    return "";
  }
  std::vector<std::string> names;
  for (const CLI::App* command : verbs_of(app)) {
    if (command->get_name() == argv[1]) {
      return "";
    }
    names.push_back(command->get_name());
  }
  const std::string near = nearest(argv[1], names);
  return fmt::format("quench: no subcommand is called {}; {}", printable(argv[1]),
                     near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                  : fmt::format("did you mean {}?", near));
}

}  // namespace

std::function<int()> CommandLine::parse(int argc, const char* const* argv) {
  if (const std::string message = unknown_verb_message(*app_, argc, argv); !message.empty()) {
    throw UsageError(QUENCH_INVALID_ARGUMENT, message);
  }
  if (argc < 2) {
    fmt::print("{}", fitted_help(app_->help()));
    asked_for_help_ = true;
    return [] { return 2; };
  }
  // `quench help VERB` is what other tools have taught people to type.
  std::vector<const char*> words(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  // Of a variable of the shell that is not set; the parser would take the next word for the value.
  for (const char* word : words) {
    const std::string_view text = word;
    if (text.starts_with("--") && text.find('=') + 1 == text.size()) {
      throw UsageError(QUENCH_INVALID_ARGUMENT,
                       fmt::format("{}: got nothing, wanted a value",
                                   printable(text.substr(0, text.size() - 1))));
    }
  }
  try {
    app_->parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", fitted_help(app_->help()));
    asked_for_help_ = true;
    return [] { return 0; };
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --version
      asked_for_help_ = true;
      return [code = app_->exit(error)] { return code; };
    }
    throw UsageError(QUENCH_INVALID_ARGUMENT, usage_message(*app_, error, words));
  }
  return chosen_;
}

std::string CommandLine::chosen_verb() const {
  std::vector<std::string> names;
  const CLI::App* at = app_.get();
  for (auto chosen = at->get_subcommands(); !chosen.empty(); chosen = at->get_subcommands()) {
    at = chosen.front();
    names.push_back(at->get_name());
  }
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace quench
