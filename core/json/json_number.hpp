// Numbers that JSON has no form for.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace quench {

// A number, or "NaN", "Infinity", "-Infinity" as text: the library would write null, and null means
// that there is no value.
inline nlohmann::json json_number(double value) {
  if (std::isfinite(value)) {
    return value;
  }
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

}  // namespace quench
