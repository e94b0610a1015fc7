// quench diff RUN1 RUN2: how two manifests differ, and the values of equal cells, which Python
// compares (python/quench/diff.py).
#include <nlohmann/json.hpp>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/python_verb.hpp"
#include "cli/run_folder.hpp"
#include "core/base/json/parse_json.hpp"

namespace quench {

namespace {

struct DiffOptions {
  std::string before;
  std::string after;
};

int diff(const DiffOptions& options, const Context& context) {
  const std::vector<std::string> runs = {"--", folder_with_run(options.before).string(),
                                         folder_with_run(options.after).string()};
  PythonVerb verb{"diff", runs};
  if (!answers()) {
    return run_python(verb, context);
  }
  verb.arguments.insert(verb.arguments.begin(), "--json");
  answer(parse_json(python_output(verb, context), "diff"));
  return kExitOk;
}

}  // namespace

void add_diff(Verb& verb, Context& context) {
  auto options = std::make_shared<DiffOptions>();
  verb.examples({"quench diff runs/a runs/b"});
  verb.option("run1", options->before, "Folder of the first run").required();
  verb.option("run2", options->after, "Folder of the second run").required();
  verb.json();
  verb.does([&context, options] { return diff(*options, context); });
}

}  // namespace quench
