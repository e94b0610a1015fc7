// The sections of a manifest and the keys beside them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run/manifest/fields.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

const Fields<Manifest>& document_keys();
// Keys that people put at the top level, and where they belong.
const std::vector<std::pair<std::string, std::string>>& sections_of_keys();

}  // namespace quench
