// quench import FILE: the manifest that a file of the study's code amounts to, which Python writes
// (python/quench/study).
#include "cli/command.hpp"
#include "cli/python_verb.hpp"

namespace quench {

namespace {

struct ImportOptions {
  std::string file;
  std::string out;
};

std::vector<std::string> words_of(const ImportOptions& options) {
  std::vector<std::string> words;
  if (!options.out.empty()) {
    words.push_back("--out=" + options.out);
  }
  words.insert(words.end(), {"--", options.file});  // either may begin with '-'
  return words;
}

}  // namespace

void add_import(Verb& verb, Context& context) {
  auto options = std::make_shared<ImportOptions>();
  verb.examples({"quench import quantize_olmo2_1B.yaml",
                 "quench import quantize_olmo2_1B.yaml -o olmo2_1b.yaml"});
  verb.option("file", options->file, "YAML file of the study's code (arXiv 2510.06213)").required();
  verb.option("-o,--out", options->out, "File to write (default: print it)").placeholder("FILE");
  verb.does([&context, options] {
    return run_python({"study", words_of(*options), {"yaml"}}, context);
  });
}

}  // namespace quench
