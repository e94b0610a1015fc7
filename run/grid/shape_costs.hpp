// What experiments on published checkpoints cost, from the shapes of the models alone: nothing of
// them needs to be in the cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"

namespace quench {

struct ShapeCosts {
  uint64_t revisions = 0;
  uint64_t download_bytes = 0;         // of weights, in the element type that their config names
  uint64_t memory_bytes = 0;           // peak, as `plan` predicts it (estimate.hpp)
  double flops = 0;                    // of all cells, whatever is known of them
  std::vector<std::string> uncounted;  // labels of metrics whose work the shapes do not tell
};

// `folder`: ORG/NAME.json below it is the config.json of hf://ORG/NAME. Throws Error(NOT_FOUND) for
// a model that is not there, and INVALID_ARGUMENT for one that is not on the hub.
ShapeCosts shape_costs(Catalog& catalog, const std::vector<Experiment>& experiments,
                       const std::filesystem::path& folder);

}  // namespace quench
