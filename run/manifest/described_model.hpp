// The models of an experiment as their configs describe them, without weights.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"
#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/plugin/model_handle.hpp"

namespace quench {

// One architecture; its model supports only the calls that extension/shapes.h allows.
struct DescribedModel {
  ModelHandle model;
  std::shared_ptr<const TensorSource> files;  // nullptr: the files are still to be trained
};

struct DescribedModels {
  std::vector<DescribedModel> models;  // one for each model that branches name
  bool complete = true;  // false: files are missing, or a family needs weights to decide
};
// How many elements all its parameters have.
uint64_t parameters_of(const ModelHandle& model);
// `dtype`: the element type to open them in.
DescribedModels describe_models(Catalog& catalog, const Experiment& experiment,
                                const HubEnvironment& hub, quench_dtype dtype);
// In the experiment's own element type.
DescribedModels describe_models(Catalog& catalog, const Experiment& experiment,
                                const HubEnvironment& hub);

}  // namespace quench
