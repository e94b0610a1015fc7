// Decides which descriptions of plugin libraries the host accepts.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/catalog/description.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "quench/abi/parameter.h"

namespace quench {

namespace {

constexpr size_t kMaxId = 64;
constexpr size_t kMaxItems = 256;
constexpr size_t kMaxParameters = 256;
constexpr size_t kMaxChoices = 256;

bool is_id(const std::string& text, bool dash_allowed) {
  if (text.empty() || text.size() > kMaxId || text[0] < 'a' || text[0] > 'z') {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           (c == '-' && dash_allowed);
  });
}

std::string choices_fault(const ParameterSchema& parameter) {
  if (parameter.type != QUENCH_PARAMETER_CHOICE) {
    return parameter.choices.empty() ? "" : "has choices, but is not a choice";
  }
  if (parameter.choices.empty() || parameter.choices.size() > kMaxChoices) {
    return fmt::format("{} choices, wanted 1..{}", parameter.choices.size(), kMaxChoices);
  }
  std::set<std::string> seen;
  for (const std::string& choice : parameter.choices) {
    if (choice.empty() || !seen.insert(choice).second) {
      return fmt::format("choice \"{}\" is empty or given twice", printable(choice));
    }
  }
  return "";
}

std::string parameter_fault(const ParameterSchema& parameter) {
  if (!is_id(parameter.name, false)) {
    return "bad name, wanted [a-z][a-z0-9_]{0,63}";
  }
  if (parameter_type_name(parameter.type).empty()) {
    return fmt::format("unknown type {}", parameter.type);
  }
  if (std::isnan(parameter.minimum) || std::isnan(parameter.maximum) ||
      parameter.minimum > parameter.maximum) {
    return fmt::format("minimum {} is above maximum {}", parameter.minimum, parameter.maximum);
  }
  if (const std::string fault = choices_fault(parameter); !fault.empty()) {
    return fault;
  }
  if (parameter.default_value) {
    std::vector<ParameterProblem> problems;
    check_parameter(parameter, *parameter.default_value, problems);
    if (!problems.empty()) {
      return "bad default: " + problems[0].message;
    }
  }
  return "";
}

std::string preset_fault(const PluginDescription& item) {
  if (!item.presets.is_object()) {
    return "its presets are not an object";
  }
  const auto schema_of = [&](const std::string& name) {
    return std::find_if(item.parameters.begin(), item.parameters.end(),
                        [&](const ParameterSchema& schema) { return schema.name == name; });
  };
  const auto choice = schema_of("preset");
  for (const auto& [name, values] : item.presets.items()) {
    if (choice == item.parameters.end() ||
        std::find(choice->choices.begin(), choice->choices.end(), name) == choice->choices.end()) {
      return fmt::format("preset {}: is no choice of a parameter `preset`", printable(name));
    }
    if (!values.is_object()) {
      return fmt::format("preset {}: is not an object", printable(name));
    }
    for (const auto& [key, value] : values.items()) {
      const auto schema = schema_of(key);
      if (schema == item.parameters.end() || key == "preset") {
        return fmt::format("preset {}: {} is no parameter", printable(name), printable(key));
      }
      std::vector<ParameterProblem> problems;
      check_parameter(*schema, value, problems);
      if (!problems.empty()) {
        return fmt::format("preset {}: {}", printable(name), problems[0].message);
      }
    }
  }
  return "";
}

std::string item_fault(const PluginDescription& item) {
  const auto& kinds = plugin_kinds();
  if (std::find(kinds.begin(), kinds.end(), item.kind) == kinds.end()) {
    return fmt::format("unknown kind \"{}\", wanted one of {}", printable(item.kind),
                       fmt::join(kinds, ", "));
  }
  if (!is_id(item.id, true)) {
    return fmt::format("bad id \"{}\", wanted [a-z][a-z0-9_-]{{0,63}}", printable(item.id));
  }
  if (item.parameters.size() > kMaxParameters) {
    return fmt::format("{} parameters, wanted at most {}", item.parameters.size(), kMaxParameters);
  }
  std::set<std::string> names;
  for (const ParameterSchema& parameter : item.parameters) {
    std::string fault = parameter_fault(parameter);
    if (fault.empty() && !names.insert(parameter.name).second) {
      fault = "declared twice";
    }
    if (!fault.empty()) {
      return fmt::format("parameter {}: {}", printable(parameter.name), fault);
    }
  }
  return preset_fault(item);
}

}  // namespace

std::string find_fault(const std::vector<PluginDescription>& items) {
  if (items.empty() || items.size() > kMaxItems) {
    return fmt::format("{} items, wanted 1..{}", items.size(), kMaxItems);
  }
  std::set<std::pair<std::string, std::string>> names;
  for (const PluginDescription& item : items) {
    std::string fault = item_fault(item);
    if (fault.empty() && !names.insert({item.kind, item.id}).second) {
      fault = "offered twice";
    }
    if (!fault.empty()) {
      return fmt::format("{} {}: {}", printable(item.kind), printable(item.id), fault);
    }
  }
  return "";
}

}  // namespace quench
