// A first manifest for someone's checkpoints.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/catalog.hpp"

namespace quench {

// A commented manifest for `model` (as it is to stand there) whose revisions are called `names`:
// sound as it is, with the plugins of the catalog, but for two corpora whose paths are to be filled
// in.
std::string starter_manifest(const std::string& name, const std::string& model,
                             const std::vector<std::string>& names, const Catalog& catalog);

}  // namespace quench
