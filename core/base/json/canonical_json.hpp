// One spelling per JSON value, for keys that are hashed and for records.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace quench {

// Sorts keys by bytes and writes no spaces. Writes each double in the shortest form that reads back
// the same, always with '.' or 'e' (1.0 is "1.0", the integer 1 is "1"), in any locale. Throws
// Error(INVALID_ARGUMENT) for NaN, infinities, binary values and strings that are not UTF-8.
std::string canonical_json(const nlohmann::json& value);

// A number, or the text "NaN", "Infinity" or "-Infinity". The JSON library would write null, and
// null means that there is no value.
inline nlohmann::json json_number(double value) {
  if (std::isfinite(value)) {
    return value;
  }
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

}  // namespace quench
