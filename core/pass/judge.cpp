#include "core/pass/judge.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/plugin/catalog/parameters.hpp"

namespace quench {

bool measures_layer_errors(const PluginDescription& quantizer) {
  return quantizer.instance && std::ranges::find(quantizer.instance->functions, "gram_get") !=
                                   quantizer.instance->functions.end();
}

const PluginDescription* judge_of(const Catalog& catalog) {
  constexpr uint32_t kMore = QUENCH_NEEDS_ROWS | QUENCH_MAKES_LINEAR_OP;
  const PluginDescription* found = nullptr;
  for (const PluginDescription* plugin : catalog.of_kind(QUENCH_KIND_QUANTIZER)) {
    if (!catalog.is_shipped(*plugin) || !measures_layer_errors(*plugin)) {
      continue;
    }
    if ((plugin->instance->needs & kMore) == 0) {
      return plugin;
    }
    found = found == nullptr ? plugin : found;
  }
  return found;
}

std::optional<QuantizerHandle> find_judge(Catalog& catalog) {
  const PluginDescription* plugin = judge_of(catalog);
  if (plugin == nullptr) {
    return std::nullopt;
  }
  return QuantizerHandle(catalog, *plugin, default_parameters(*plugin));
}

}  // namespace quench
