#include "run/manifest/resolve_plugin.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/handles/metric_handle.hpp"
#include "run/manifest/manifest_items.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/sweep.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

bool is_axis(const PluginDescription& plugin, const YamlNode::Member& member) {
  const ParameterSchema* schema = find_parameter(plugin, member.key);
  if (schema == nullptr || !member.value.is_sequence() || member.value.items.empty()) {
    return false;
  }
  return !is_list_type(schema->type) || member.value.items[0].is_sequence();
}

}  // namespace

std::vector<std::string> grid_axes(const PluginDescription& plugin, const YamlNode& parameters) {
  std::vector<std::string> names;
  for (const YamlNode::Member& member : parameters.members) {
    if (is_axis(plugin, member)) {
      names.push_back(member.key);
    }
  }
  return names;
}

std::vector<nlohmann::json> grid_points(const PluginDescription& plugin,
                                        const YamlNode& parameters) {
  // Saturates: only the size of a large count matters.
  unsigned __int128 count = 1;
  constexpr unsigned __int128 kLargest = ~uint64_t{0};
  for (const YamlNode::Member& member : parameters.members) {
    if (is_axis(plugin, member)) {
      count = std::min(count * member.value.items.size(), kLargest);
    }
  }
  if (count > kMaxCells) {
    fail(QUENCH_INVALID_ARGUMENT, "{} {}: {} combinations of {}, more than {}", plugin.kind,
         plugin.id, static_cast<uint64_t>(count), fmt::join(grid_axes(plugin, parameters), ", "),
         kMaxCells);
  }
  std::vector<nlohmann::json> points = {nlohmann::json::object()};
  for (const YamlNode::Member& member : parameters.members) {
    const nlohmann::json value = yaml_to_json(member.value);
    const nlohmann::json values = is_axis(plugin, member) ? value : nlohmann::json::array({value});
    std::vector<nlohmann::json> next;
    for (const nlohmann::json& point : points) {
      for (const nlohmann::json& element : values) {
        next.push_back(point);
        next.back()[member.key] = element;
      }
    }
    points = std::move(next);
  }
  return points;
}

namespace {

// Paths of a manifest are relative to its folder; hf://datasets/... is looked up in the hub cache,
// and if it is missing there, stays unchanged and goes to `absent` with the reason.
void resolve_paths(const PluginDescription& plugin, nlohmann::json& parameters,
                   const fs::path& relative_to, const HubEnvironment& hub,
                   std::map<std::string, std::string>& absent) {
  for (const ParameterSchema& schema : plugin.parameters) {
    auto value = parameters.find(schema.name);
    if (schema.type != QUENCH_PARAMETER_PATH || value == parameters.end() || !value->is_string() ||
        value->get_ref<const std::string&>().empty()) {
      continue;
    }
    const std::string text = value->get<std::string>();
    if (is_hub_spec(text)) {
      if (const auto found = find_in_cache(text, hub, absent)) {
        *value = (found->file.empty() ? found->folder : found->folder / found->file).string();
      }
    } else if (text.starts_with("~/") || text.find("://") != std::string::npos) {
      fail(QUENCH_INVALID_ARGUMENT, "{} {}: {}: got `{}`, wanted a path{}", plugin.kind, plugin.id,
           schema.name, printable(text, 400),
           text[0] == '~' ? "; `~` is the home folder to a shell alone"
                          : " or hf://datasets/ORG/NAME: from elsewhere nothing is downloaded");
    } else {
      *value = fs::absolute(relative_to / text).lexically_normal().string();
    }
  }
}

// The place of a parameter's value; for an axis, of the element that this point of the grid takes.
Place place_of_value(const YamlNode& parameters, const std::string& name,
                     const nlohmann::json& given, const Place& otherwise) {
  const YamlNode* found = parameters.find(name);
  const auto value = given.find(name);
  if (found != nullptr && found->is_sequence() && value != given.end()) {
    for (const YamlNode& element : found->items) {
      if (yaml_to_json(element) == *value) {
        return element.place;
      }
    }
  }
  return PluginResolver::place_of(parameters, name, otherwise);
}

}  // namespace

std::optional<ResolvedModel> find_in_cache(const std::string& spec, const HubEnvironment& hub,
                                           std::map<std::string, std::string>& absent) {
  try {
    return resolve(spec, hub);
  } catch (const Error& error) {
    if (error.code() != QUENCH_NOT_FOUND) {
      throw;
    }
    absent[spec] = error.what();
    return std::nullopt;
  }
}

const PluginDescription* PluginResolver::find(const std::string& kind, const std::string& id,
                                              const Place& place) {
  const PluginDescription* found = nullptr;
  if (!id.empty()) {
    attempt(place, [&] { found = &catalog_.require(kind, id); });
  }
  return found;
}

Place PluginResolver::place_of(const YamlNode& parameters, const std::string& name,
                               const Place& otherwise) {
  const YamlNode* found = parameters.find(name);
  return found != nullptr ? found->place : otherwise;
}

std::optional<nlohmann::json> PluginResolver::complete(const PluginDescription& plugin,
                                                       const nlohmann::json& given,
                                                       const YamlNode& parameters,
                                                       const Place& place) {
  std::vector<ParameterProblem> found;
  nlohmann::json out = complete_parameters(plugin, given, found);
  for (const ParameterProblem& problem : found) {
    const bool beside = stands_beside_an_id(problem.parameter) &&
                        find_parameter(plugin, problem.parameter) == nullptr;
    problems_.add(place_of_value(parameters, problem.parameter, given, place),
                  beside ? fmt::format("{} {}: `{}` belongs beside the id, not under it",
                                       plugin.kind, plugin.id, problem.parameter)
                         : fmt::format("{} {}: {}", plugin.kind, plugin.id, problem.message));
  }
  if (!found.empty()) {
    return std::nullopt;
  }
  attempt(place, [&] { resolve_paths(plugin, out, folder_, hub_, absent_); });
  // One in a process of its own can only read what a path names. Of corpora await_files() says it.
  const bool only_reads = catalog_.placed(plugin).placement == Placement::kOwn;
  for (const ParameterSchema& schema : plugin.parameters) {
    if (schema.type == QUENCH_PARAMETER_PATH && only_reads && plugin.kind != "corpus") {
      check_exists(plugin, schema.name, out, place_of_value(parameters, schema.name, given, place));
    }
  }
  return out;
}

std::optional<PluginUse> PluginResolver::resolve(const std::string& kind,
                                                 const ManifestPlugin& entry) {
  const PluginDescription* plugin = find(kind, entry.id, entry.place);
  if (plugin == nullptr) {
    return std::nullopt;
  }
  const YamlNode& written = entry.parameters;
  auto parameters =
      complete(*plugin, written.is_mapping() ? yaml_to_json(written) : nlohmann::json::object(),
               written, entry.place);
  return parameters ? std::optional(PluginUse{plugin, std::move(*parameters)}) : std::nullopt;
}

void PluginResolver::check_exists(const PluginDescription& plugin, const std::string& parameter,
                                  const nlohmann::json& values, const Place& place) {
  const auto value = values.find(parameter);
  if (value == values.end() || !value->is_string()) {
    return;
  }
  const std::string& path = value->get_ref<const std::string&>();
  std::error_code error;
  if (!path.empty() && !absent_.contains(path) &&
      fs::status(path, error).type() == fs::file_type::not_found) {
    problems_.add(place, fmt::format("{} {}: {}: {} does not exist", plugin.kind, plugin.id,
                                     parameter, printable(path, 4096)));
  }
}

bool PluginResolver::await_files(const CorpusUse& use) {
  bool any = false;
  for (const fs::path& file : corpus_files(use)) {
    const std::string path = file.string();
    std::error_code error;
    if (!absent_.contains(path) && fs::status(path, error).type() == fs::file_type::not_found) {
      absent_[path] = fmt::format("corpus {}: {} does not exist", printable(use.name), path);
    }
    any = any || absent_.contains(path);
  }
  return any;
}

std::string PluginResolver::label_of(const ManifestItem& item, const PluginDescription& plugin,
                                     const nlohmann::json& parameters) {
  const std::vector<std::string> shown = grid_axes(plugin, item.parameters);
  if (item.label.empty()) {
    // Of a quantizer all that was given, so that "gptq bits=4" stands beside "rtn bits=3".
    std::vector<std::string> given = shown;
    if (plugin.kind == "quantizer") {
      for (const YamlNode::Member& member : item.parameters.members) {
        given.push_back(member.key);
      }
    }
    return cell_label(plugin, parameters, given);
  }
  std::string label = item.label;
  for (const std::string& name : shown) {
    const nlohmann::json& value = parameters.at(name);
    label +=
        fmt::format(" {}={}", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return label;
}

void PluginResolver::claim_label(const std::string& label, const Place& place) {
  if (!labels_.insert(label).second) {
    problems_.add(place,
                  fmt::format("`{}` occurs twice; give one its own `label`", printable(label)));
  }
}

uint32_t metric_needs(Catalog& catalog, const PluginDescription& plugin,
                      const nlohmann::json& parameters) {
  try {
    return MetricHandle(catalog, plugin, parameters).needs();
  } catch (const Error&) {
    return 0;
  }
}

std::optional<quench_dtype> metric_dtype(const PluginDescription& plugin,
                                         const nlohmann::json& parameters) {
  for (const ParameterSchema& schema : plugin.parameters) {
    if (schema.name == "dtype" && schema.type == QUENCH_PARAMETER_CHOICE) {
      try {
        return parse_dtype(parameters.at("dtype").get<std::string>());
      } catch (const Error&) {
        return std::nullopt;
      }
    }
  }
  return std::nullopt;
}

}  // namespace quench
