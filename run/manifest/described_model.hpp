// The models of an experiment as their configs describe them, without any weights.
#pragma once

#include <memory>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"
#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/plugin/model_handle.hpp"

namespace quench {

// One architecture; only what extension/shapes.h allows may be asked of its model.
struct DescribedModel {
  ModelHandle model;
  std::shared_ptr<const TensorSource> files;  // nullptr: they are to be trained
};

struct DescribedModels {
  std::vector<DescribedModel> models;  // one for each model that branches name
  bool complete = true;  // false: some files are not there, or a family wants weights to tell
};
// `dtype`: what they would be opened in.
DescribedModels describe_models(Catalog& catalog, const Experiment& experiment,
                                const HubEnvironment& hub, quench_dtype dtype);
// In the experiment's own.
DescribedModels describe_models(Catalog& catalog, const Experiment& experiment,
                                const HubEnvironment& hub);

}  // namespace quench
