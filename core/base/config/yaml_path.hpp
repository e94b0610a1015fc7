// Changes a document by dotted path (`quantizers.0.rtn.bits`), for --set and for sweeps.
#pragma once

#include <string>

#include "core/base/config/yaml.hpp"

namespace quench {

// The node at `path`, which lists keys of mappings and indices of lists (from 0). With `make`, adds
// all missing keys as mappings; without, adds only the last one, and a missing key before it is an
// error that names the nearest key. Throws Error(INVALID_ARGUMENT).
YamlNode& yaml_at(YamlNode& root, const std::string& path, const Place& place, bool make);

// Applies --set: `change` is `a.b=VALUE`, which replaces, or `a.b+=VALUE`, which appends to a list
// (every element, if VALUE is a list). VALUE is YAML. The new nodes have the place `origin`. Throws
// Error(INVALID_ARGUMENT) beginning with `origin`.
void yaml_change(YamlNode& root, const std::string& change, const std::string& origin);

}  // namespace quench
