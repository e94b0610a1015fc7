// What can be typed: verbs, their options and their work. The parser stands behind it in one source
// file alone, since its header takes the compiler longer than any of the verbs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace quench {

// The command line or a manifest is wrong, not the work: exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// An option or argument of a verb. Each function returns the option, for chaining.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  // Stands for the value in --help: DIR, SPEC.
  Option placeholder(const std::string& word);
  Option one_of(const std::vector<std::string>& words);
  Option between(int64_t least, int64_t most);
  Option not_negative();
  // Digits alone: a sign, a point or more than 19 digits are refused, not wrapped.
  Option whole_number();
  // Takes 8GB or 500M, too.
  Option bytes();
  // An option that may be given several times takes one value each time.
  Option one_value_each();
  // --help shows what the variable holds now.
  Option show_default();
  // The heading above it in --help, below the options without one.
  Option group(const std::string& heading);

 private:
  friend class Verb;
  CLI::Option* option_;
};

class Verb {
 public:
  // The variables must live until the work has ended. `names` is "--csv", "-o,--out", or a word
  // without dashes for an argument by its place.
  template <typename T>  // a text, texts, or a number
  Option option(const std::string& names, T& to, const std::string& help);
  Option flag(const std::string& name, bool& to, const std::string& help);
  // --json, which answers() tells of.
  Option json(const std::string& help = "Print JSON");
  // At most one of them may be given.
  void exclusive(const std::vector<Option>& options);

  // Shown below the options of --help, each a line as it is typed.
  void examples(const std::vector<std::string>& lines);

  // A verb of this verb, such as `quench plugins show`: takes this one's options, too.
  Verb verb(const std::string& name, const std::string& help);
  // The work if this verb was chosen and none of its own; returns the exit code.
  void does(std::function<int()> work);

 private:
  friend class CommandLine;
  Verb(CLI::App* app, std::function<int()>* chosen) : app_(app), chosen_(chosen) {}

  CLI::App* app_;
  std::function<int()>* chosen_;  // the command line's
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& help, const std::string& version);
  ~CommandLine();

  // `group`: the heading above it in --help.
  Verb verb(const std::string& name, const std::string& help, const std::string& group);
  // What is said below the verbs, in --help and on the manual page: titles and texts.
  void sections(std::vector<std::pair<std::string, std::string>> sections);
  // The manual page, in roff.
  std::string man_page() const;
  // A script that completes verbs and options: `shell` is bash, zsh or fish.
  std::string completion(const std::string& shell) const;
  // The work of the chosen verb; for --help and --version, which are printed here, one that returns
  // 0. Throws UsageError, one line that points to --help.
  std::function<int()> parse(int argc, const char* const* argv);
  // Of the last parse(), also of one that threw: "plugins show", or "" if no verb was recognized.
  std::string chosen_verb() const;
  // Whether it printed --help or --version.
  bool asked_for_help() const { return asked_for_help_; }

 private:
  std::unique_ptr<CLI::App> app_;
  std::function<int()> chosen_;
  bool asked_for_help_ = false;
  std::string version_;
  std::vector<std::pair<std::string, std::string>> sections_;
};

}  // namespace quench
