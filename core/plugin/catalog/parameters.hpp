// Checks a plugin's hyper-parameters against its schema before any work starts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plugin/catalog/description.hpp"

namespace quench {

struct ParameterProblem {
  std::string parameter;  // the key at fault; "" for the whole object
  std::string message;    // complete: "bits: got 9, wanted 2..8"
};

// Checks `given` (an object) against the schema and fills in defaults. Appends all problems instead
// of throwing. If the parameter `preset` names one of the plugin's presets, its values replace the
// defaults. The result has every parameter of the schema whose value is valid, numbers as doubles
// and integers as integers, so that equal settings give equal JSON.
nlohmann::json complete_parameters(const PluginDescription& description,
                                   const nlohmann::json& given,
                                   std::vector<ParameterProblem>& problems);

// All of the plugin's parameters with their defaults. Throws Error(UNSUPPORTED) if one is required.
nlohmann::json default_parameters(const PluginDescription& description);

// The default of a parameter: the preset's value if `parameters` (given or complete) select a
// preset that sets it, else the schema's default, which may be missing.
std::optional<nlohmann::json> default_under(const PluginDescription& description,
                                            const nlohmann::json& parameters,
                                            const ParameterSchema& schema);

// Checks one value against one parameter: appends at most a few problems and returns the value that
// the plugin will receive (null if there is a problem).
nlohmann::json check_parameter(const ParameterSchema& schema, const nlohmann::json& value,
                               std::vector<ParameterProblem>& problems);

// `id[:key=value,...]` of the command line, or a label as tables show it, `id key=value ...`, whose
// values have no blanks.
struct InlineSpec {
  std::string id;
  std::vector<std::pair<std::string, std::string>> options;
};
// Throws Error(INVALID_ARGUMENT): no id, an option without '=', a repeated key.
InlineSpec parse_inline(std::string_view text);

// Converts an option's text to the type of its parameter: "3" -> 3, "true" -> true, "0.9+0.95" ->
// [0.9,0.95], "null" -> null if that is the default. Does not check the range. Throws
// Error(INVALID_ARGUMENT).
nlohmann::json parse_option(const ParameterSchema& schema, std::string_view text);

// "2..8", "at least 1", "one of a, b", or "" if there is no bound.
std::string range_text(const ParameterSchema& schema);

}  // namespace quench
