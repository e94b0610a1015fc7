// The section `requires`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "run/manifest/manifest.hpp"

namespace quench {

// `node` may be nullptr or null. Adds errors to `problems`.
std::vector<ManifestRequirement> read_requirements(const YamlNode* node, Problems& problems);
nlohmann::json requires_schema();

}  // namespace quench
