#include "core/run/judge.hpp"

#include <nlohmann/json.hpp>

#include "core/plugin/parameters.hpp"

namespace quench {

std::optional<QuantizerHandle> find_judge(Catalog& catalog) {
  for (const PluginDescription* plugin : catalog.of_kind("quantizer")) {
    std::vector<ParameterProblem> problems;
    const nlohmann::json defaults =
        complete_parameters(*plugin, nlohmann::json::object(), problems);
    if (!problems.empty()) {
      continue;  // has a required parameter
    }
    QuantizerHandle candidate(catalog, *plugin, defaults);
    if (candidate.extension(QUENCH_QUANTIZER_GRAM) != nullptr) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace quench
