#include <cmath>
#include <nlohmann/json.hpp>

#include "quench/abi/parameter.h"
#include "run/manifest/manifest_schema.hpp"

namespace quench {

namespace {

using nlohmann::json;

// Writes bounds of integers as integers, as far as a double represents them exactly.
json bound(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return value == std::floor(value) && std::abs(value) <= kExact ? json(static_cast<int64_t>(value))
                                                                 : json(value);
}

json element_schema(const ParameterSchema& parameter) {
  json out;
  switch (parameter.type) {
    case QUENCH_PARAMETER_INTEGER:
    case QUENCH_PARAMETER_INTEGER_LIST:
      out["type"] = "integer";
      break;
    case QUENCH_PARAMETER_NUMBER:
    case QUENCH_PARAMETER_NUMBER_LIST:
      out["type"] = "number";
      break;
    case QUENCH_PARAMETER_BOOLEAN:
      out["type"] = "boolean";
      break;
    case QUENCH_PARAMETER_CHOICE:
      out["enum"] = parameter.choices;
      return out;
    default:
      out["type"] = "string";
      return out;
  }
  if (parameter.type != QUENCH_PARAMETER_BOOLEAN && std::isfinite(parameter.minimum)) {
    out["minimum"] = bound(parameter.minimum);
  }
  if (parameter.type != QUENCH_PARAMETER_BOOLEAN && std::isfinite(parameter.maximum)) {
    out["maximum"] = bound(parameter.maximum);
  }
  return out;
}

json list_of(const json& element, bool may_be_empty) {
  json out = {{"type", "array"}, {"items", element}};
  if (!may_be_empty) {
    out["minItems"] = 1;
  }
  return out;
}

json parameter_schema(const ParameterSchema& parameter) {
  const json element = element_schema(parameter);
  const json value = is_list_type(parameter.type) ? list_of(element, true) : element;
  json forms = json::array({value, list_of(value, false)});  // the value itself, or an axis
  if (parameter.default_value && parameter.default_value->is_null()) {
    forms.push_back({{"type", "null"}});
  }
  json out = {{"anyOf", forms}, {"description", parameter.meaning}};
  if (parameter.default_value && !parameter.default_value->is_null()) {
    out["default"] = *parameter.default_value;
  }
  return out;
}

}  // namespace

json parameters_schema(const PluginDescription& plugin) {
  json properties = json::object();
  json required = json::array();
  for (const ParameterSchema& parameter : plugin.parameters) {
    properties[parameter.name] = parameter_schema(parameter);
    if (!parameter.default_value) {
      required.push_back(parameter.name);
    }
  }
  json out = {{"description", plugin.summary},
              {"type", required.empty() ? json::array({"object", "null"}) : json("object")},
              {"properties", properties},
              {"additionalProperties", false}};
  if (!required.empty()) {
    out["required"] = required;
  }
  return out;
}

}  // namespace quench
