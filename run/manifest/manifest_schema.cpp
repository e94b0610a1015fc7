#include "run/manifest/manifest_schema.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "quench/abi/parameter.h"
#include "run/manifest/document_keys.hpp"

namespace quench {

using nlohmann::json;

json closed(json properties) {
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

json described(json schema, const char* description) {
  schema["description"] = description;
  return schema;
}

json reference(const char* name) {
  return {{"$ref", std::string("#/definitions/") + name}};
}

namespace {

json definitions() {
  const json open_end = {{"anyOf", {reference("amount"), {{"type", "null"}}}}};
  return {{"name", {{"type", json::array({"string", "number", "boolean"})}}},
          {"amount",
           {{"description", "A whole number, optionally with a unit: k, M, B or T"},
            {"anyOf",
             {{{"type", "integer"}, {"minimum", 0}},
              {{"type", "string"}, {"pattern", "^(0|[1-9][0-9]*|[0-9]+[.][0-9]+)[kKMBT]?$"}}}}}},
          {"range",
           {{"description", "[first, last], both included; null is an open end"},
            {"anyOf",
             {reference("amount"),
              {{"type", "array"}, {"items", open_end}, {"minItems", 2}, {"maxItems", 2}}}}}},
          {"ranges", {{"type", "object"}, {"additionalProperties", reference("range")}}},
          {"version",
           {{"type", json::array({"string", "number"})},
            {"pattern",
             "^ *(>=|<=|==|!=|>|<)? *[0-9]+([.][0-9]+){0,2} *"
             "(, *(>=|<=|==|!=|>|<)? *[0-9]+([.][0-9]+){0,2} *)*$"}}}};
}

}  // namespace

json manifest_schema(const Catalog& catalog) {
  json out = document_keys().schema(catalog);
  out["$schema"] = "http://json-schema.org/draft-07/schema#";
  out["title"] = "quench manifest";
  out["definitions"] = definitions();
  // The points of a sweep may add what the rest lacks.
  out["if"] = {{"not", {{"required", {"sweep"}}}}};
  out["then"] = {
      {"required", {"checkpoints", "metrics"}},
      {"properties",
       {{"checkpoints", {{"anyOf", {{{"required", {"model"}}}, {{"required", {"branches"}}}}}}}}}};
  return out;
}

namespace {

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

json plugin_schema(const Catalog& catalog, const char* kind) {
  json members = json::object();
  json ids = json::array();
  for (const PluginDescription* plugin : catalog.of_kind(kind)) {
    members[plugin->id] = parameters_schema(*plugin);
    ids.push_back(plugin->id);
  }
  if (ids.empty()) {
    return {{"not", json::object()}};  // no id is valid
  }
  json one = closed(std::move(members));
  one["minProperties"] = 1;
  one["maxProperties"] = 1;
  return {{"anyOf", json::array({{{"enum", ids}}, std::move(one)})}};
}

}  // namespace quench
