// The section `requires`: what must be installed, as written, and whether it is.
#pragma once

#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "run/manifest/fields.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

const Fields<std::vector<ManifestRequirement>>& requires_keys();

// Adds missing plugins and versions and file hashes that do not match to `problems`.
void check_requirements(const Manifest& manifest, const Catalog& catalog, Problems& problems);

}  // namespace quench
