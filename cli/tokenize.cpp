// quench tokenize TOKENIZER < lines
#include <unistd.h>

#include <iostream>

#include "cli/command.hpp"
#include "cli/interruptible_input.hpp"
#include "core/plugin/host_services.hpp"
#include "core/text/tokenize_lines.hpp"

namespace quench {

void add_tokenize(CLI::App& app, Context&, Action& action) {
  struct Options {
    std::string tokenizer;
    bool special = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("tokenize", "Token ids of JSON strings, one a line, from standard input");
  command
      ->add_option("tokenizer", options->tokenizer,
                   "tokenizer.json, tokenizer.model, a folder that has one, or bytes")
      ->required();
  command->add_flag("--special", options->special, "Add the special tokens of the tokenizer");
  command->callback([&action, options] {
    action = [options] {
      const text::Tokenizer tokenizer =
          options->tokenizer == "bytes"
              ? text::Tokenizer::bytes()
              : text::Tokenizer::from_file(text::tokenizer_file(options->tokenizer));
      std::ios::sync_with_stdio(false);
      InterruptibleInput input(STDIN_FILENO, HostServices::instance().cancel_flag());
      std::istream lines(&input);
      lines.exceptions(std::ios::badbit);  // what reading throws passes through
      return text::tokenize(tokenizer, lines, std::cout, options->special);
    };
  });
}

}  // namespace quench
