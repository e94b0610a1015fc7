// The parameters of a plugin as keys and records have them. Those that are null, "not set", are
// left out: a parameter that it has gained since, null by default, leaves the keys and records of
// earlier settings as they were. Of a corpus they are kept, for it had such ones from the start.
// Null, of a plugin that is made without parameters, stays null.
#pragma once

#include <nlohmann/json.hpp>

namespace quench {

inline nlohmann::json set_parameters(const nlohmann::json& parameters) {
  nlohmann::json out = parameters.is_null() ? nullptr : nlohmann::json::object();
  for (const auto& [name, value] : parameters.items()) {
    if (!value.is_null()) {
      out[name] = value;
    }
  }
  return out;
}

}  // namespace quench
