// Hands the manifest's words about processes to the catalog.
#pragma once

#include "core/plugin/catalog.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

// Adds what `manifest` says to what the catalog knows of earlier points of its sweep. Call it
// before anything of the manifest is loaded. An id that no plugin has, and two words about one
// library that differ, become problems.
void place_plugins(const Manifest& manifest, Catalog& catalog, Problems& problems);

// Forgets what earlier manifests said.
void forget_manifest_places(Catalog& catalog);

}  // namespace quench
