// quench forget SELECTOR --run RUN --reason TEXT: hides values, so that the next run computes them.
#include <fmt/format.h>

#include <set>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/run_folder.hpp"
#include "core/store/run_scan.hpp"
#include "core/store/selection.hpp"
#include "core/store/store.hpp"

namespace quench {

namespace {

struct ForgetOptions {
  std::string selector;
  std::string run;
  std::string reason;
};

int forget(ForgetOptions options, const Context& context) {
  options.run = folder_with_run(options.run).string();
  const Selection selection = as_usage([&] { return Selection(options.selector); });
  const RunScan scan = scan_run(options.run);
  as_usage([&] { selection.check_fields(scan); });
  std::set<std::string> keys;
  size_t nameless = 0;
  for (const auto* lines : {&scan.counted, &scan.superseded}) {
    for (const size_t i : *lines) {
      const RecordLine& line = scan.lines[i];
      if (selection.matches(line)) {
        nameless += line.key.empty() ? 1 : 0;
        keys.emplace(line.key);
      }
    }
  }
  keys.erase("");
  if (keys.empty()) {
    throw UsageError(QUENCH_NOT_FOUND,
                     fmt::format("{}: '{}' selects no record that can be forgotten{}", options.run,
                                 printable(options.selector),
                                 nameless > 0 ? "; failed cells are tried again by "
                                                "`quench run --retry failed`"
                                              : ""));
  }
  // The store first: after a kill in between, the run is unchanged and the command can be repeated.
  Store store(context.home());
  size_t shared = 0;
  for (const std::string& key : keys) {
    shared += store.forget(key, options.reason) ? 1 : 0;
  }
  forget_in_run(options.run, {keys.begin(), keys.end()}, options.reason);
  if (answers()) {
    answer({{"forgotten", keys.size()}, {"shared", shared}});
  } else {
    fmt::print("{} values forgotten, {} of them shared between runs\n", keys.size(), shared);
  }
  return kExitOk;
}

}  // namespace

void add_forget(Verb& verb, Context& context) {
  auto options = std::make_shared<ForgetOptions>();
  verb.examples(
      {"quench forget \"quantizer.id=gptq\" --run runs/m --reason \"wrong calibration text\""});
  verb.option("selector", options->selector, "Which values, as in `quench results --where`")
      .required();
  verb.option("--run", options->run, "Folder of the run").required();
  verb.option("--reason", options->reason, "Why; stored with the hidden keys").required();
  verb.json();
  verb.does([&context, options] { return forget(*options, context); });
}

}  // namespace quench
