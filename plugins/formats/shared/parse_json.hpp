// JSON text from outside.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace quench::formats {

// Parses after the host has checked depth, size and duplicate keys. `where` begins every message.
// Throws kit::Error(INVALID_ARGUMENT).
nlohmann::json parse_json(std::string_view text, const std::string& where);

}  // namespace quench::formats
