// Writes a first manifest for a user's checkpoints.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/catalog.hpp"

namespace quench {

// A commented manifest for `model` (the text to write into it) with revisions `names`. It
// is valid with the catalog's plugins, except for two corpora whose paths the user fills
// in.
std::string starter_manifest(const std::string& name, const std::string& model,
                             const std::vector<std::string>& names, const Catalog& catalog);

}  // namespace quench
