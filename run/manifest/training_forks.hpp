// The entry `forks` of the section `train`, and what it shares with the section.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/config/problems.hpp"
#include "core/plugin/catalog.hpp"
#include "run/manifest/manifest_train.hpp"

namespace quench {

// Fills `out.forks`; `out` has its schedule. A fork that is not sound is left out, and told.
void read_forks(MappingReader& outer, ManifestTraining& out, Problems& problems);
nlohmann::json forks_schema(const Catalog& catalog);

// How figures draw the checkpoints of a training, or "".
std::string read_training_mark(MappingReader& reader, const std::string& where, Problems& problems);

}  // namespace quench
