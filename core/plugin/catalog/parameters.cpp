#include "core/plugin/catalog/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "quench/abi/parameter.h"

namespace quench {

namespace {

using nlohmann::json;

// A value for a message. Does not write out lists and objects, which may be deep.
std::string shown(const json& value) {
  if (value.is_array()) {
    return value.empty() ? "an empty list" : "a list";
  }
  if (value.is_object()) {
    return "an object";
  }
  return printable(value.dump(-1, ' ', false, json::error_handler_t::replace), 60);
}

const char* wanted(int32_t type) {
  switch (type) {
    case QUENCH_PARAMETER_INTEGER:
    case QUENCH_PARAMETER_INTEGER_LIST:
      return "an integer";
    case QUENCH_PARAMETER_NUMBER:
    case QUENCH_PARAMETER_NUMBER_LIST:
      return "a number";
    case QUENCH_PARAMETER_BOOLEAN:
      return "true or false";
    case QUENCH_PARAMETER_CORPUS:
      return "the name of a corpus";
    case QUENCH_PARAMETER_PATH:
      return "a path";
    default:
      return "text";
  }
}

bool has_type(int32_t type, const json& value) {
  switch (type) {
    case QUENCH_PARAMETER_INTEGER:
    case QUENCH_PARAMETER_INTEGER_LIST:
      return value.is_number_integer() &&
             !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX);
    case QUENCH_PARAMETER_NUMBER:
    case QUENCH_PARAMETER_NUMBER_LIST:
      return value.is_number() && std::isfinite(value.get<double>());
    case QUENCH_PARAMETER_BOOLEAN:
      return value.is_boolean();
    default:
      return value.is_string();
  }
}

bool is_numeric(int32_t type) {
  return type == QUENCH_PARAMETER_INTEGER || type == QUENCH_PARAMETER_INTEGER_LIST ||
         type == QUENCH_PARAMETER_NUMBER || type == QUENCH_PARAMETER_NUMBER_LIST;
}

// The message against a value that is not a list, or "". `where`: "bits" or "betas[1]".
std::string scalar_problem(const ParameterSchema& schema, const std::string& where,
                           const json& value) {
  if (!has_type(schema.type, value)) {
    const std::string text =
        is_numeric(schema.type) && value.is_string() ? value.get<std::string>() : "";
    const bool has_unit = text.find_first_of("0123456789") == 0 &&
                          text.find_first_not_of("0123456789.") != std::string::npos;
    return fmt::format("{}: got {}, wanted {}{}", where, shown(value), wanted(schema.type),
                       has_unit ? " without a unit: " + schema.meaning : "");
  }
  if (is_numeric(schema.type)) {
    const double number = value.get<double>();
    if (number < schema.minimum || number > schema.maximum) {
      return fmt::format("{}: got {}, wanted {}", where, shown(value), range_text(schema));
    }
  }
  if (schema.type == QUENCH_PARAMETER_CHOICE) {
    const auto& text = value.get_ref<const std::string&>();
    if (std::find(schema.choices.begin(), schema.choices.end(), text) == schema.choices.end()) {
      const std::string near = nearest(text, schema.choices);
      return fmt::format("{}: got {}, wanted {}{}", where, printable(text, 60), range_text(schema),
                         near.empty() ? "" : "; did you mean " + near + "?");
    }
  }
  return "";
}

// The value in the one form that enters records and keys.
json normalized(int32_t type, const json& value) {
  if (type == QUENCH_PARAMETER_NUMBER || type == QUENCH_PARAMETER_NUMBER_LIST) {
    return value.get<double>();
  }
  if (type == QUENCH_PARAMETER_INTEGER || type == QUENCH_PARAMETER_INTEGER_LIST) {
    return value.get<int64_t>();
  }
  return value;
}

json check_list(const ParameterSchema& schema, const json& value,
                std::vector<ParameterProblem>& problems) {
  constexpr size_t kMaxShown = 3;
  const size_t before = problems.size();
  if (!value.is_array()) {
    problems.push_back({schema.name, fmt::format("{}: got {}, wanted a list, each element {}",
                                                 schema.name, shown(value), wanted(schema.type))});
    return nullptr;
  }
  json out = json::array();
  for (size_t i = 0; i < value.size() && problems.size() < before + kMaxShown; ++i) {
    const std::string message =
        scalar_problem(schema, fmt::format("{}[{}]", schema.name, i), value[i]);
    if (message.empty()) {
      out.push_back(normalized(schema.type, value[i]));
    } else {
      problems.push_back({schema.name, message});
    }
  }
  return problems.size() == before ? out : json(nullptr);
}

const ParameterSchema* find_schema(const PluginDescription& description, const std::string& name) {
  for (const ParameterSchema& schema : description.parameters) {
    if (schema.name == name) {
      return &schema;
    }
  }
  return nullptr;
}

std::string unknown_message(const PluginDescription& description, const std::string& key) {
  std::vector<std::string> names;
  for (const ParameterSchema& schema : description.parameters) {
    names.push_back(schema.name);
  }
  const std::string near = nearest(key, names);
  if (!near.empty()) {
    return fmt::format("{}: unknown parameter of {} {}; did you mean {}?", printable(key, 60),
                       description.kind, description.id, near);
  }
  return fmt::format("{}: unknown parameter of {} {}, which has {}", printable(key, 60),
                     description.kind, description.id,
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace

std::string range_text(const ParameterSchema& schema) {
  if (schema.type == QUENCH_PARAMETER_CHOICE) {
    return fmt::format("one of {}", fmt::join(schema.choices, ", "));
  }
  if (!is_numeric(schema.type)) {
    return "";
  }
  const bool below = std::isfinite(schema.minimum);
  const bool above = std::isfinite(schema.maximum);
  if (below && above) {
    return fmt::format("{}..{}", schema.minimum, schema.maximum);
  }
  return below   ? fmt::format("at least {}", schema.minimum)
         : above ? fmt::format("at most {}", schema.maximum)
                 : "";
}

std::optional<json> default_under(const PluginDescription& description, const json& parameters,
                                  const ParameterSchema& schema) {
  const auto name = parameters.find("preset");
  if (parameters.is_object() && name != parameters.end() && name->is_string()) {
    const auto preset = description.presets.find(name->get_ref<const std::string&>());
    if (preset != description.presets.end() && preset->contains(schema.name)) {
      return preset->at(schema.name);
    }
  }
  return schema.default_value;
}

json check_parameter(const ParameterSchema& schema, const json& value,
                     std::vector<ParameterProblem>& problems) {
  if (value.is_null() && schema.default_value && schema.default_value->is_null()) {
    return nullptr;
  }
  if (is_list_type(schema.type)) {
    return check_list(schema, value, problems);
  }
  if (std::string message = scalar_problem(schema, schema.name, value); !message.empty()) {
    problems.push_back({schema.name, std::move(message)});
    return nullptr;
  }
  return normalized(schema.type, value);
}

json complete_parameters(const PluginDescription& description, const json& given,
                         std::vector<ParameterProblem>& problems) {
  if (!given.is_null() && !given.is_object()) {
    problems.push_back({"", fmt::format("parameters of {} {}: got {}, wanted an object",
                                        description.kind, description.id, shown(given))});
    return json::object();
  }
  for (const auto& [key, value] : given.items()) {
    if (find_schema(description, key) == nullptr) {
      problems.push_back({key, unknown_message(description, key)});
    }
  }
  json complete = json::object();
  for (const ParameterSchema& schema : description.parameters) {
    const auto found = given.find(schema.name);
    if (given.is_object() && found != given.end()) {
      const size_t before = problems.size();
      json value = check_parameter(schema, *found, problems);
      if (problems.size() == before) {
        complete[schema.name] = std::move(value);
      }
    } else if (const std::optional<json> value = default_under(description, given, schema)) {
      complete[schema.name] = check_parameter(schema, *value, problems);
    } else {
      problems.push_back({schema.name, fmt::format("{}: required and not given: {}", schema.name,
                                                   schema.meaning)});
    }
  }
  return complete;
}

json default_parameters(const PluginDescription& description) {
  std::vector<ParameterProblem> problems;
  json out = complete_parameters(description, json::object(), problems);
  if (!problems.empty()) {
    fail(QUENCH_UNSUPPORTED, "{} {}: parameter {}", description.kind, description.id,
         problems.front().message);
  }
  return out;
}

}  // namespace quench
