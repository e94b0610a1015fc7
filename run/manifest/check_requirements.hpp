// `requires`: is what the manifest was written for there?
#pragma once

#include "core/plugin/catalog.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

// Versions and file hashes that do not fit, plugins that are not there: added to `problems`.
void check_requirements(const Manifest& manifest, const Catalog& catalog, Problems& problems);

}  // namespace quench
