// Averages of a manifest that are written beside the results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/plugin/catalog.hpp"
#include "core/run/experiment/experiment.hpp"

namespace quench {

struct KeepPlace {
  std::filesystem::path folder;  // one folder per average below it
  std::string manifest;          // text, for the model card
  HubEnvironment hub;
};

// Writes the average of a row of the grid, unless it is there. `found`: the members' weights where
// the scheme searched, else empty. Throws what keep_average throws.
void keep_row(Catalog& catalog, const Experiment& experiment, const WeightsCell& weights,
              const std::vector<double>& found, const KeepPlace& place);

}  // namespace quench
