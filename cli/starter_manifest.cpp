#include "cli/starter_manifest.hpp"

#include <algorithm>

#include "cli/guess_revisions.hpp"
#include "core/base/config/yaml_text.hpp"
#include "core/error.hpp"
#include "quench/abi/kind/metric.h"
#include "quench/abi/parameter.h"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/resolve_plugin.hpp"
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

// The simplest metric that measures a model by itself: others compare models, or follow a whole
// trajectory, and give no loss to compare methods by. If there is none, the simplest of all.
const PluginDescription* first_metric(Catalog& catalog) {
  std::vector<const PluginDescription*> candidates;
  for (const PluginDescription* plugin : catalog.of_kind("metric")) {
    if (first_of_type(*plugin, QUENCH_PARAMETER_CORPUS) != nullptr &&
        needs_only(*plugin, {QUENCH_PARAMETER_CORPUS})) {
      candidates.push_back(plugin);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto* a, const auto* b) {
    return a->parameters.size() < b->parameters.size();
  });
  const auto alone =
      std::find_if(candidates.begin(), candidates.end(), [&](const PluginDescription* plugin) {
        const std::string corpus = first_of_type(*plugin, QUENCH_PARAMETER_CORPUS)->name;
        const uint32_t needs = metric_needs(catalog, *plugin, {{corpus, "validation"}});
        return (needs & (QUENCH_METRIC_NEEDS_FLOAT | QUENCH_METRIC_NEEDS_TRAJECTORY)) == 0;
      });
  return alone != candidates.end() ? *alone : candidates.empty() ? nullptr : candidates.front();
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

// One list of plugins: those with the ids `active` as entries, the others as comments.
std::string plugin_list(const Catalog& catalog, const std::string& section, const std::string& kind,
                        const std::vector<std::string>& active, const std::string& beside) {
  std::string out;
  for (const PluginDescription* plugin : catalog.of_kind(kind)) {
    const bool chosen = std::find(active.begin(), active.end(), plugin->id) != active.end();
    const std::string mark = chosen ? "  " : "  # ";
    const bool empty = plugin->example.empty() || (chosen && needs_only(*plugin, {}));
    out += fmt::format("{}- {}: {}   # {}\n", mark, plugin->id, empty ? "{}" : plugin->example,
                       plugin->summary);
    out += beside.empty() ? "" : fmt::format("{}  {}\n", mark, beside);
  }
  if (out.empty()) {
    return "";
  }
  return fmt::format("{}{}:\n{}\n", active.empty() ? "# " : "", section, out);
}

// Whole numbers whose default is beyond the context, cut to it: ", block: 256".
std::string within_context(const PluginDescription& plugin, int64_t context) {
  std::string out;
  for (const ParameterSchema& parameter : plugin.parameters) {
    const bool beyond = context > 0 && parameter.default_value &&
                        parameter.default_value->is_number_integer() &&
                        *parameter.default_value > context;
    out += beyond ? fmt::format(", {}: {}", parameter.name, context) : "";
  }
  return out;
}

}  // namespace

std::string starter_manifest(const StarterChoices& choices, Catalog& catalog) {
  // A corpus of token ids would be as simple, but few people have one at hand.
  const PluginDescription* text = catalog.find("corpus", "text");
  const PluginDescription* corpus =
      text != nullptr && first_of_type(*text, QUENCH_PARAMETER_PATH) != nullptr
          ? text
          : simplest(catalog, "corpus", QUENCH_PARAMETER_PATH);
  const PluginDescription* metric = first_metric(catalog);
  if (corpus == nullptr || metric == nullptr) {
    fail(QUENCH_NOT_FOUND,
         "no {} plugin is there to start from; `quench plugins` says where it looks",
         corpus == nullptr ? "corpus" : "metric");
  }
  for (const std::string& id : choices.quantizers) {
    catalog.require("quantizer", id);
  }
  constexpr int64_t kLength = 512;
  const int64_t length = choices.context > 0 ? std::min(kLength, choices.context) : kLength;
  const std::string path = first_of_type(*corpus, QUENCH_PARAMETER_PATH)->name;
  const std::string data = first_of_type(*metric, QUENCH_PARAMETER_CORPUS)->name;
  std::string out = fmt::format(
      "# yaml-language-server: $schema=quench.schema.json\n"
      "# (`quench schema > quench.schema.json` writes the schema with which an editor checks this "
      "one.)\n"
      "# Look at what would run:  quench plan FILE       run it:  quench run FILE\n"
      "name: {}\nseed: 0\ndtype: float32\n\n",
      double_quoted(choices.name));
  out += checkpoints_section(choices.model, choices.revisions) + "\n";
  out += plugin_list(catalog, "averaging", "averaging", {}, "");
  out += fmt::format(
      "calibration:\n  few: {{corpus: calibration, sequences: 128, length: {}, packing: "
      "concat}}\n\n",
      length);
  out += plugin_list(catalog, "quantizers", "quantizer", choices.quantizers, "calibration: few");
  out += fmt::format("metrics:\n  - {}: {{{}: validation{}}}   # {}\n\n", metric->id, data,
                     within_context(*metric, choices.context), metric->summary);
  out += choices.text.empty()
             ? "corpora:   # fill in: files of text that the model was not trained on\n"
             : "corpora:   # one text for both; calibrate on another one for figures to publish\n";
  for (const std::string use : {"calibration", "validation"}) {
    out += fmt::format("  {}: {{{}: {{{}: {}}}}}\n", use, corpus->id, path,
                       choices.text.empty() ? use + ".txt" : double_quoted(choices.text));
  }
  return out;
}

}  // namespace quench
