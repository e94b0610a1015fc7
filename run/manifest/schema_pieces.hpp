// Building blocks of the JSON Schema of manifests.
#pragma once

#include <nlohmann/json.hpp>

namespace quench {

// An object with these properties and no others.
nlohmann::json closed(nlohmann::json properties);
// The schema with a description.
nlohmann::json described(nlohmann::json schema, const char* description);
// One of the schema's definitions: name, amount, range, ranges, version.
nlohmann::json reference(const char* name);
nlohmann::json definitions();

}  // namespace quench
