#include "run/manifest/described_model.hpp"

#include <set>
#include <tuple>

#include "core/checkpoint/abi_source.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "quench/abi/kind/model.h"
#include "train/recipe.hpp"
#include "train/training_flops.hpp"

namespace quench {

namespace {

class NoTensors final : public TensorSource {
 public:
  NoTensors() : TensorSource("a description of shapes") {}

 private:
  void read_elements(uint64_t, uint64_t, uint64_t, void*) const override {
    fail(QUENCH_INTERNAL, "{}: has nothing to read", description());
  }
};

ModelHandle open_shapes(Catalog& catalog, const PluginDescription& family,
                        const std::string& config, quench_dtype dtype) {
  const AbiSource nothing(std::make_shared<NoTensors>());
  return ModelHandle::open(catalog, family,
                           {sizeof(quench_model_open_args),
                            QUENCH_OPEN_SHAPES,
                            nothing.get(),
                            config.data(),
                            config.size(),
                            {QUENCH_DEVICE_CPU, 0},
                            dtype});
}

DescribedModel describe(Catalog& catalog, const Experiment& experiment, const CheckpointCell& cell,
                        const HubEnvironment& hub, quench_dtype dtype) {
  if (experiment.training != nullptr) {
    const TrainingRecipe& recipe = experiment.training->recipe;
    return {open_shapes(catalog, *recipe.family, recipe.config, dtype), nullptr};
  }
  const CheckpointFolder folder = open_headers(catalog, cell, hub);
  const std::string where = (folder.path / "config.json").string();
  return {describe_config(catalog, folder.config_json, where, cell.family, dtype), folder.source};
}

}  // namespace

ModelHandle describe_config(Catalog& catalog, const std::string& config_json,
                            const std::string& where, const std::string& family,
                            quench_dtype dtype) {
  require_config(config_json, where);
  const PluginDescription& plugin = family.empty() ? choose_family(catalog, config_json, where)
                                                   : catalog.require("model", family);
  return open_shapes(catalog, plugin, config_json, dtype);
}

uint64_t parameter_count(const ModelHandle& model) {
  uint64_t total = 0;
  for (const quench_parameter_info& parameter : model.parameters()) {
    total += elements_of(parameter);
  }
  return total;
}

uint64_t visiting_elements(const ModelHandle& model) {
  uint64_t in_blocks = 0;
  uint64_t widest = 0;
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const quench_block_info& block = model.block(b);
    uint64_t elements = 0;
    for (uint32_t g = 0; g < block.group_count; ++g) {
      for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
        const quench_linear_info& linear = block.groups[g].linears[l];
        elements += static_cast<uint64_t>(linear.out_features * linear.in_features);
      }
    }
    in_blocks += elements;
    widest = std::max(widest, elements);
  }
  return parameter_count(model) - in_blocks + std::min(in_blocks, 2 * widest);
}

DescribedModels describe_models(Catalog& catalog, const Experiment& experiment,
                                const HubEnvironment& hub, std::optional<quench_dtype> dtype) {
  DescribedModels out;
  std::set<std::tuple<std::string, std::string, std::string>> seen;  // one config per model
  for (const CheckpointCell& cell : experiment.checkpoints) {
    if (!seen.emplace(cell.model, cell.config, cell.family).second) {
      continue;
    }
    try {
      out.models.push_back(
          describe(catalog, experiment, cell, hub, dtype.value_or(experiment.dtype)));
    } catch (const Error&) {
      out.complete = false;
    }
  }
  return out;
}

}  // namespace quench
