// Writes averages of a manifest beside the results.
#pragma once

#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/plugin/catalog.hpp"
#include "run/row_folders.hpp"

namespace quench {

// Writes the folder, or leaves it to another process that has written the same one meanwhile.
// `found`: the members' weights if the scheme searched, else empty. `manifest`: its text, for the
// model card. Throws what keep_average throws.
void keep_row(Catalog& catalog, const Experiment& experiment, const OwedFolder& owed,
              const std::vector<double>& found, const std::string& manifest,
              const HubEnvironment& hub);

}  // namespace quench
