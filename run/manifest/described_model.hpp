// The models of an experiment as their configs describe them, without weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"
#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/handles/model_handle.hpp"

namespace quench {

// One architecture; its model supports only the calls that QUENCH_OPEN_SHAPES allows.
struct DescribedModel {
  ModelHandle model;
  std::shared_ptr<const TensorSource> files;  // nullptr: the files are still to be trained
};

struct DescribedModels {
  std::vector<DescribedModel> models;  // one for each model that branches name
  bool complete = true;  // false: files are missing, or a family needs weights to decide
};
// `dtype`: the element type to open them in, if not the experiment's.
DescribedModels describe_models(Catalog& catalog, const Experiment& experiment,
                                const HubEnvironment& hub,
                                std::optional<quench_dtype> dtype = std::nullopt);

// The model that a config describes; `where` is the config's name in messages, `family` as in
// CheckpointCell. Throws Error for a config that no family opens.
ModelHandle describe_config(Catalog& catalog, const std::string& config_json,
                            const std::string& where, const std::string& family,
                            quench_dtype dtype);
// How many elements all its parameters have.
uint64_t parameter_count(const ModelHandle& model);
// Those of them that are on a GPU if blocks take turns there: two of them, and what belongs to
// none.
uint64_t visiting_elements(const ModelHandle& model);

}  // namespace quench
