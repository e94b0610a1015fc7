// quench tokenize TOKENIZER < lines
#include <unistd.h>
#include <ext/stdio_sync_filebuf.h>

#include <istream>
#include <ostream>

#include "cli/command.hpp"
#include "cli/interruptible_input.hpp"
#include "cli/standard_streams.hpp"
#include "cli/tokenize_lines.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

Tokenizer open_tokenizer(Context& context, const std::string& given) {
  if (given == "bytes") {
    return Tokenizer::bytes();
  }
  return Tokenizer::open(context.catalog(), tokenizer_file(context.catalog(), given));
}

}  // namespace

void add_tokenize(Verb& verb, Context& context) {
  struct Options {
    std::string tokenizer;
    bool special = false;
  };
  auto options = std::make_shared<Options>();
  verb.examples({"printf '\"a text\"\\n' | quench tokenize model/tokenizer.json"});
  verb.option("tokenizer", options->tokenizer,
              "A file that a tokenizer plugin reads, a folder that has one, or bytes")
      .required();
  verb.flag("--special", options->special, "Add the tokenizer's special tokens");
  add_plugin_options(verb, context);
  verb.does([&context, options] {
    Tokenizer tokenizer = open_tokenizer(context, options->tokenizer);
    InterruptibleInput input(STDIN_FILENO, HostServices::instance().cancel_flag());
    std::istream lines(&input);
    lines.exceptions(std::ios::badbit);  // exceptions from reading pass through
    __gnu_cxx::stdio_sync_filebuf<char> ids(results());
    std::ostream out(&ids);
    return tokenize(tokenizer, lines, out, options->special);
  });
}

}  // namespace quench
