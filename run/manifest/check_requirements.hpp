// Checks the section `requires`: whether everything that the manifest was written for is installed.
#pragma once

#include "core/plugin/catalog.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

// Adds missing plugins and versions and file hashes that do not match to `problems`.
void check_requirements(const Manifest& manifest, const Catalog& catalog, Problems& problems);

}  // namespace quench
