#include "core/run/quantize/judge.hpp"

#include <nlohmann/json.hpp>

#include "core/plugin/parameters.hpp"

namespace quench {

// Preferably one that needs no rows for itself, and so gathers nothing but the Gram matrix.
std::optional<QuantizerHandle> find_judge(Catalog& catalog) {
  constexpr uint32_t kMore = QUENCH_NEEDS_ROWS | QUENCH_MAKES_LINEAR_OP;
  std::optional<QuantizerHandle> found;
  for (const PluginDescription* plugin : catalog.of_kind("quantizer")) {
    std::vector<ParameterProblem> problems;
    const nlohmann::json defaults =
        complete_parameters(*plugin, nlohmann::json::object(), problems);
    if (!problems.empty()) {
      continue;  // has a required parameter
    }
    QuantizerHandle candidate(catalog, *plugin, defaults);
    if (candidate.extension(QUENCH_QUANTIZER_GRAM) == nullptr) {
      continue;
    }
    if ((candidate.needs() & kMore) == 0) {
      return candidate;
    }
    if (!found) {
      found.emplace(std::move(candidate));
    }
  }
  return found;
}

}  // namespace quench
