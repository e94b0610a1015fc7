#include "run/manifest/starter_manifest.hpp"

#include <algorithm>

#include "core/config/yaml_text.hpp"
#include "core/error.hpp"
#include "quench/abi/parameter.h"
#include "run/manifest/guess_revisions.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/revision_pattern.hpp"

namespace quench {

namespace {

bool needs_only(const PluginDescription& plugin, const std::vector<int32_t>& types) {
  return std::all_of(plugin.parameters.begin(), plugin.parameters.end(),
                     [&](const ParameterSchema& parameter) {
                       return parameter.default_value.has_value() ||
                              std::find(types.begin(), types.end(), parameter.type) != types.end();
                     });
}

// The first plugin of a kind all of whose parameters but one of this type have defaults; of several
// the one with the fewest parameters. nullptr if there is none.
const PluginDescription* simplest(const Catalog& catalog, const std::string& kind, int32_t type) {
  const PluginDescription* found = nullptr;
  for (const PluginDescription* plugin : catalog.of_kind(kind)) {
    if (first_of_type(*plugin, type) != nullptr && needs_only(*plugin, {type}) &&
        (found == nullptr || plugin->parameters.size() < found->parameters.size())) {
      found = plugin;
    }
  }
  return found;
}

// Sorts positions, so that the comment names the first and the last.
std::string extent_of(GuessedRevisions guess) {
  const RevisionPattern pattern(guess.pattern);
  const auto position = [&](const std::string& name) {
    const auto match = pattern.match(name);
    const auto step = match ? match->find("step") : RevisionPattern::Match::const_iterator{};
    return match && step != match->end() ? step->second.value : 0;
  };
  std::stable_sort(
      guess.matching.begin(), guess.matching.end(),
      [&](const std::string& a, const std::string& b) { return position(a) < position(b); });
  return fmt::format("{} found, {} to {}", guess.matching.size(), printable(guess.matching.front()),
                     printable(guess.matching.back()));
}

std::string checkpoints_section(const std::string& model, const std::vector<std::string>& names) {
  const GuessedRevisions guess = guess_revisions(names);
  std::string out = fmt::format("checkpoints:\n  model: {}\n", double_quoted(model));
  if (guess.pattern.empty()) {
    return out +
           "  # revisions: \"step{step}\"   # a pattern, or a list of names; without it the "
           "model itself is measured\n";
  }
  if (guess.others.empty()) {
    out += fmt::format("  revisions: {}   # {}\n", double_quoted(guess.pattern), extent_of(guess));
  } else {
    std::string name = "branch";
    for (const std::string& capture : guess.others) {
      name += "-{" + capture + "}";
    }
    out += fmt::format("  branches:\n    {}: {{revisions: {}}}   # {}\n", double_quoted(name),
                       double_quoted(guess.pattern), extent_of(guess));
  }
  if (!guess.rest.empty()) {
    constexpr size_t kShown = 5;
    const std::vector<std::string> shown(
        guess.rest.begin(),
        guess.rest.begin() + static_cast<ptrdiff_t>(std::min(kShown, guess.rest.size())));
    out +=
        fmt::format("  # not matched: {}{}\n", printable(fmt::format("{}", fmt::join(shown, ", "))),
                    guess.rest.size() > kShown ? ", ..." : "");
  }
  if (guess.others.empty()) {
    out += "  # thin: 10                 # every 10th checkpoint and the last\n";
  }
  return out +
         "  # tokens_per_step: 2M      # for names with only the step\n"
         "  # lr: {schedule: wsd, peak: 3e-3, warmup: 500, steps: 20k, decay_steps: 4k}\n";
}

// One list of plugins: the first `active` of them as entries, the others as comments.
std::string plugin_list(const Catalog& catalog, const std::string& section, const std::string& kind,
                        size_t active, const std::string& beside) {
  std::string out;
  size_t count = 0;
  for (const PluginDescription* plugin : catalog.of_kind(kind)) {
    const bool ready = needs_only(*plugin, {}) && count < active;
    const std::string mark = ready ? "  " : "  # ";
    const std::string parameters = ready || plugin->example.empty() ? "{}" : plugin->example;
    out += fmt::format("{}- {}: {}   # {}\n", mark, plugin->id, parameters, plugin->summary);
    out += beside.empty() ? "" : fmt::format("{}  {}\n", mark, beside);
    count += ready ? 1 : 0;
  }
  if (out.empty()) {
    return "";
  }
  return fmt::format("{}{}:\n{}\n", count > 0 ? "" : "# ", section, out);
}

}  // namespace

std::string starter_manifest(const std::string& name, const std::string& model,
                             const std::vector<std::string>& names, const Catalog& catalog) {
  // A corpus of token ids would be as simple, but few people have one at hand.
  const PluginDescription* text = catalog.find("corpus", "text");
  const PluginDescription* corpus =
      text != nullptr && first_of_type(*text, QUENCH_PARAMETER_PATH) != nullptr
          ? text
          : simplest(catalog, "corpus", QUENCH_PARAMETER_PATH);
  const PluginDescription* metric = simplest(catalog, "metric", QUENCH_PARAMETER_CORPUS);
  if (corpus == nullptr || metric == nullptr) {
    fail(QUENCH_NOT_FOUND,
         "no {} plugin is there to start from; `quench plugins` says where it looks",
         corpus == nullptr ? "corpus" : "metric");
  }
  const std::string path = first_of_type(*corpus, QUENCH_PARAMETER_PATH)->name;
  const std::string data = first_of_type(*metric, QUENCH_PARAMETER_CORPUS)->name;
  std::string out = fmt::format(
      "# yaml-language-server: $schema=quench.schema.json\n"
      "# (`quench schema > quench.schema.json` writes the schema with which an editor checks this "
      "one.)\n"
      "# Look at what would run:  quench plan FILE       run it:  quench run FILE\n"
      "name: {}\nseed: 0\ndtype: float32\n\n",
      double_quoted(name));
  out += checkpoints_section(model, names) + "\n";
  out += plugin_list(catalog, "averaging", "averaging", 0, "");
  out +=
      "calibration:\n  few: {corpus: calibration, sequences: 128, length: 512, packing: "
      "concat}\n\n";
  out += plugin_list(catalog, "quantizers", "quantizer", 2, "calibration: few");
  out += fmt::format("metrics:\n  - {}: {{{}: validation}}   # {}\n\n", metric->id, data,
                     metric->summary);
  out += "corpora:   # fill in: files of text that the model was not trained on\n";
  for (const char* use : {"calibration", "validation"}) {
    out += fmt::format("  {}: {{{}: {{{}: {}.txt}}}}\n", use, corpus->id, path, use);
  }
  return out;
}

}  // namespace quench
