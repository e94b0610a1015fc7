#include "run/manifest/parameter_grid.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/sweep.hpp"

namespace quench {

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

}  // namespace quench
