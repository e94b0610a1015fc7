#include "train/recipe.hpp"

#include "core/arithmetic/build_id.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/or_null.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/base/json/set_parameters.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/plugin/catalog/code_identity.hpp"
#include "core/plugin/library/device_part.hpp"
#include "core/plugin/services/devices.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/instruction_set.hpp"

namespace quench {

namespace {

nlohmann::json plugin_json(const PluginDescription& plugin, const nlohmann::json& parameters) {
  return {{"id", plugin.id},
          {"code", plugin.code},
          {"params", parameters},
          {"libraries", computing_libraries(plugin.links)}};
}

nlohmann::json optimizer_json(const TrainingOptimizer& optimizer) {
  return plugin_json(*optimizer.plugin, set_parameters(optimizer.parameters));
}

}  // namespace

std::string recipe_key(const TrainingRecipe& recipe) {
  // Files count by content, wherever they are; other parameters count as written.
  const nlohmann::json corpus = reading_parameters(*recipe.corpus.plugin, recipe.corpus.parameters);
  nlohmann::json json = {{"host", arithmetic_build_id()},
                         {"isa", key_text(HostServices::instance().instructions())},
                         {"libm", math_library()},
                         {"family", plugin_json(*recipe.family, nullptr)},
                         {"config", parse_json(recipe.config, "config")},
                         {"corpus", plugin_json(*recipe.corpus.plugin, corpus)},
                         {"files", recipe.corpus.fingerprint},
                         {"part", recipe.corpus.part.key()},
                         {"tokenizer", recipe.tokenizer_key},
                         {"document_end", or_null(recipe.document_end)},
                         {"optimizer", optimizer_json(recipe.optimizer)},
                         {"batch", recipe.batch},
                         {"micro_batch", recipe.micro_batch},
                         {"length", recipe.length},
                         {"clip", recipe.clip},
                         {"bfloat16", recipe.bfloat16},
                         {"seed", recipe.seed},
                         {"peak", recipe.peak},
                         {"device", device_model(recipe.device)}};
  if (recipe.device.type != QUENCH_DEVICE_CPU) {
    json["device_libraries"] = computing_libraries(device_libraries(*recipe.family));
  }
  return sha256_hex(canonical_json(json));
}

std::string optimizer_key(const TrainingOptimizer& optimizer) {
  return sha256_hex(canonical_json(optimizer_json(optimizer)));
}

TrainingRecipe Training::recipe_of(const TrainingBranch& branch) const {
  TrainingRecipe out = recipe;
  out.optimizer = branch.optimizer.value_or(recipe.optimizer);
  return out;
}

}  // namespace quench
