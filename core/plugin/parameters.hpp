// Hyper-parameters of a plugin: checked against its schema before any work starts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plugin/description.hpp"

namespace quench {

struct ParameterProblem {
  std::string parameter;  // the key at fault; "" when the whole is
  std::string message;    // complete: "bits = 9, expected 2..8"
};

// Checks `given` (an object) against the schema and fills in defaults. Problems are appended, all
// of them, not thrown. Where the parameter `preset` names one of the plugin's presets, that one's
// values stand in for the defaults. The result has every parameter of the schema whose value is
// sound, numbers as doubles and integers as integers, so that equal settings give equal JSON.
nlohmann::json complete_parameters(const PluginDescription& description,
                                   const nlohmann::json& given,
                                   std::vector<ParameterProblem>& problems);

// The value that a parameter has when it is not given: the preset's where `parameters` (given or
// complete) picks one that sets it, else the schema's default, which may be none.
std::optional<nlohmann::json> default_under(const PluginDescription& description,
                                            const nlohmann::json& parameters,
                                            const ParameterSchema& schema);

// One value against one parameter: appends at most a few problems, returns the value as it will
// reach the plugin (null when there is a problem).
nlohmann::json check_parameter(const ParameterSchema& schema, const nlohmann::json& value,
                               std::vector<ParameterProblem>& problems);

// `id[:key=value,...]` of the command line.
struct InlineSpec {
  std::string id;
  std::vector<std::pair<std::string, std::string>> options;
};
// Throws Error(INVALID_ARGUMENT): no id, an option without '=', a key given twice.
InlineSpec parse_inline(std::string_view text);

// An option's text by the type of its parameter: "3" -> 3, "true" -> true, "0.9+0.95" ->
// [0.9,0.95], "null" -> null where that is the default. Range is not checked here. Throws
// Error(INVALID_ARGUMENT).
nlohmann::json parse_option(const ParameterSchema& schema, std::string_view text);

// "2..8", "at least 1", "one of a, b", or "" where everything goes.
std::string range_text(const ParameterSchema& schema);

}  // namespace quench
