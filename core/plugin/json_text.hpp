// JSON that comes from or goes to plugins.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace quench {

// Parses one document strictly: no duplicate keys, at most 64 levels deep. `name` begins every
// message. Throws Error(INVALID_ARGUMENT).
nlohmann::json parse_plugin_json(std::string_view text, const std::string& name);

}  // namespace quench
