#include "train/recipe.hpp"

#include "core/io/sha256.hpp"
#include "core/json/canonical_json.hpp"
#include "core/json/parse_json.hpp"

namespace quench {

namespace {

nlohmann::json plugin_json(const PluginDescription& plugin, const nlohmann::json& parameters) {
  nlohmann::json libraries = nlohmann::json::object();
  for (const LinkedLibrary& link : plugin.links) {
    libraries[link.soname] = link.build_id;
  }
  return {{"id", plugin.id},
          {"sha256", plugin.sha256},
          {"params", parameters},
          {"libraries", libraries}};
}

}  // namespace

std::string recipe_key(const TrainingRecipe& recipe) {
  // Files count by content, wherever they are; other parameters count as written.
  nlohmann::json corpus = recipe.corpus.parameters;
  for (const ParameterSchema& schema : recipe.corpus.plugin->parameters) {
    if (schema.type == QUENCH_PARAMETER_PATH) {
      corpus.erase(schema.name);
    }
  }
  const nlohmann::json json = {
      {"training", kTrainingNumerics},
      {"family", plugin_json(*recipe.family, nullptr)},
      {"config", parse_json(recipe.config, "config")},
      {"corpus", plugin_json(*recipe.corpus.plugin, corpus)},
      {"files", recipe.corpus.fingerprint},
      {"part", recipe.corpus.part.key()},
      {"tokenizer", recipe.tokenizer_key},
      {"document_end",
       recipe.document_end ? nlohmann::json(*recipe.document_end) : nlohmann::json()},
      {"optimizer", plugin_json(*recipe.optimizer, recipe.optimizer_parameters)},
      {"batch", recipe.batch},
      {"micro_batch", recipe.micro_batch},
      {"length", recipe.length},
      {"clip", recipe.clip},
      {"bfloat16", recipe.bfloat16},
      {"seed", recipe.seed},
      {"peak", recipe.peak},
      {"device", recipe.device.type}};
  return sha256_hex(canonical_json(json));
}

}  // namespace quench
