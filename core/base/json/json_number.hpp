// Numbers that JSON cannot express.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace quench {

// A number, or the text "NaN", "Infinity" or "-Infinity". The JSON library would write null, and
// null means that there is no value.
inline nlohmann::json json_number(double value) {
  if (std::isfinite(value)) {
    return value;
  }
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

}  // namespace quench
