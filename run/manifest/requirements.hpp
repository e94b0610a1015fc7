// The section `requires`: what must be installed, as written, and whether it is.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

// `node` may be nullptr or null. Adds errors to `problems`.
std::vector<ManifestRequirement> read_requirements(const YamlNode* node, Problems& problems);
nlohmann::json requires_schema();

// Adds missing plugins and versions and file hashes that do not match to `problems`.
void check_requirements(const Manifest& manifest, const Catalog& catalog, Problems& problems);

}  // namespace quench
