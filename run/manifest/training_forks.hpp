// The entry `forks` of the section `train`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/config/problems.hpp"
#include "run/manifest/manifest_train.hpp"

namespace quench {

// Fills `out.forks`; `out` has its schedule. A fork that is not sound is left out, and told.
void read_forks(MappingReader& outer, ManifestTraining& out);
nlohmann::json forks_schema();

}  // namespace quench
