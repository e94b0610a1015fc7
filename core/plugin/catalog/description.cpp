#include "core/plugin/catalog/description.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "quench/abi/parameter.h"

namespace quench {

namespace {

using nlohmann::json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::array<const char*, 11> kTypeNames = {
    "",       "integer",      "number",      "boolean",     "string",
    "choice", "integer list", "number list", "string list", "corpus",
    "path"};

// JSON has no infinity: a missing bound is null.
json bound_to_json(double bound) {
  return std::isfinite(bound) ? json(bound) : json(nullptr);
}

double bound_from_json(const json& in, const char* name, double otherwise) {
  const auto bound = in.find(name);
  return bound == in.end() || bound->is_null() ? otherwise : bound->get<double>();
}

json parameter_to_json(const ParameterSchema& parameter) {
  json out = {{"name", parameter.name},
              {"type", parameter.type},
              {"minimum", bound_to_json(parameter.minimum)},
              {"maximum", bound_to_json(parameter.maximum)},
              {"choices", parameter.choices},
              {"meaning", parameter.meaning}};
  if (parameter.default_value) {
    out["default"] = *parameter.default_value;
  }
  return out;
}

// A start reads all of them, and most have no bounds and no choices.
void leave_unset_out(json& parameters) {
  for (json& parameter : parameters) {
    for (const char* name : {"minimum", "maximum", "choices"}) {
      if (parameter.at(name).is_null() || parameter.at(name).empty()) {
        parameter.erase(name);
      }
    }
  }
}

ParameterSchema parameter_from_json(const json& in) {
  ParameterSchema parameter;
  in.at("name").get_to(parameter.name);
  in.at("type").get_to(parameter.type);
  parameter.minimum = bound_from_json(in, "minimum", -kInfinity);
  parameter.maximum = bound_from_json(in, "maximum", kInfinity);
  parameter.choices = in.value("choices", parameter.choices);
  in.at("meaning").get_to(parameter.meaning);
  if (const auto found = in.find("default"); found != in.end()) {
    parameter.default_value = *found;
  }
  return parameter;
}

PluginDescription description_from_json(const json& in) {
  PluginDescription item;
  in.at("kind").get_to(item.kind);
  in.at("id").get_to(item.id);
  in.at("version").get_to(item.version);
  in.at("summary").get_to(item.summary);
  in.at("reference").get_to(item.reference);
  in.at("example").get_to(item.example);
  for (const json& parameter : in.at("parameters")) {
    item.parameters.push_back(parameter_from_json(parameter));
  }
  item.presets = in.at("presets");
  in.at("model_types").get_to(item.model_types);
  if (const json& instance = in.at("instance"); !instance.is_null()) {
    item.instance = {instance.at("needs").get<uint32_t>(),
                     instance.at("functions").get<std::vector<std::string>>()};
  }
  return item;
}

}  // namespace

const std::vector<std::string>& plugin_kinds() {
  static const std::vector<std::string> kinds = {"model",     "quantizer", "transform",
                                                 "averaging", "metric",    "corpus",
                                                 "tokenizer", "optimizer", "format"};
  return kinds;
}

std::string parameter_type_name(int32_t type) {
  return type > 0 && type < static_cast<int32_t>(kTypeNames.size())
             ? kTypeNames[static_cast<size_t>(type)]
             : "";
}

bool is_list_type(int32_t type) {
  return type == QUENCH_PARAMETER_INTEGER_LIST || type == QUENCH_PARAMETER_NUMBER_LIST ||
         type == QUENCH_PARAMETER_STRING_LIST;
}

json description_to_json(const PluginDescription& item) {
  json parameters = json::array();
  for (const ParameterSchema& parameter : item.parameters) {
    parameters.push_back(parameter_to_json(parameter));
  }
  return {{"kind", item.kind},
          {"id", item.id},
          {"version", item.version},
          {"summary", item.summary},
          {"reference", item.reference},
          {"example", item.example},
          {"parameters", std::move(parameters)},
          {"presets", item.presets},
          {"model_types", item.model_types}};
}

json items_to_json(const std::vector<PluginDescription>& items) {
  json out = {{"items", json::array()}};
  for (const PluginDescription& item : items) {
    out["items"].push_back(description_to_json(item));
    leave_unset_out(out["items"].back()["parameters"]);
    out["items"].back()["instance"] = item.instance ? json{{"needs", item.instance->needs},
                                                           {"functions", item.instance->functions}}
                                                    : json(nullptr);
    out["module"] = {
        {"id", item.module_id}, {"version", item.module_version}, {"build", item.build}};
  }
  return out;
}

std::vector<PluginDescription> items_from_json(const json& in) {
  try {
    std::vector<PluginDescription> out;
    for (const json& item : in.at("items")) {
      out.push_back(description_from_json(item));
      in.at("module").at("id").get_to(out.back().module_id);
      in.at("module").at("version").get_to(out.back().module_version);
      in.at("module").at("build").get_to(out.back().build);
    }
    return out;
  } catch (const json::exception& failure) {
    fail(QUENCH_DATA_LOSS, "description of a plugin: {}", printable(failure.what()));
  }
}

}  // namespace quench
