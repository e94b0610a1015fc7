// The parameters of a quantizer or a transform as keys and records have them. Those that are null,
// "not set", are left out: a parameter that one has gained since, null by default, leaves the keys
// and records of earlier settings as they were.
#pragma once

#include <nlohmann/json.hpp>

namespace quench {

inline nlohmann::json set_parameters(const nlohmann::json& parameters) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, value] : parameters.items()) {
    if (!value.is_null()) {
      out[name] = value;
    }
  }
  return out;
}

}  // namespace quench
