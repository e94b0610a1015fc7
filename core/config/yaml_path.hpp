// Changes to a document by dotted path (`quantizers.0.rtn.bits`): what --set and a sweep do.
#pragma once

#include <string>

#include "core/config/yaml.hpp"

namespace quench {

// The node at `path`: keys of mappings and, for lists, indices from 0. With `make`, keys that are
// not there are made, each a mapping; without, only the last one is, and a key before it that is
// not there is an error with the nearest one. Throws Error(INVALID_ARGUMENT).
YamlNode& yaml_at(YamlNode& root, const std::string& path, const Place& place, bool make);

// --set: `change` is `a.b=VALUE`, which replaces, or `a.b+=VALUE`, which appends to a list (all
// elements where VALUE is a list). VALUE is YAML. `origin` is the place of what it puts there.
// Throws Error(INVALID_ARGUMENT) beginning with `origin`.
void yaml_change(YamlNode& root, const std::string& change, const std::string& origin);

}  // namespace quench
