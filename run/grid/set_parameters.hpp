// The parameters of a quantizer as keys and records have them. Of one that came with quench those
// that are null, "not set", are left out: a parameter that it has gained since, null by default,
// leaves the keys and records of earlier settings as they were. One from elsewhere has had its
// nulls there from its first version on, and keeps them.
#pragma once

#include <nlohmann/json.hpp>

#include "core/plugin/catalog/catalog.hpp"

namespace quench {

inline nlohmann::json set_parameters(const Catalog& catalog, const PluginDescription& plugin,
                                     const nlohmann::json& parameters) {
  if (!catalog.is_shipped(plugin)) {
    return parameters;
  }
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, value] : parameters.items()) {
    if (!value.is_null()) {
      out[name] = value;
    }
  }
  return out;
}

}  // namespace quench
