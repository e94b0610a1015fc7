#include "run/manifest/process_keys.hpp"

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "run/manifest/schema_pieces.hpp"

namespace quench {

using nlohmann::json;

json process_schema() {
  return described({{"enum", {"own", "shared"}}}, "The process that runs it: its own, or quench's");
}

json processes_schema() {
  return {{"type", json::array({"object", "null"})}, {"additionalProperties", process_schema()}};
}

std::optional<Placement> read_process(const YamlNode& value, const std::string& where,
                                      Problems& problems) {
  for (const Placement placement : {Placement::kOwn, Placement::kShared}) {
    if (value.is_scalar() && value.scalar == to_text(placement)) {
      return placement;
    }
  }
  problems.add(value.place,
               fmt::format("{}: got {}, wanted own or shared", where, value.described()));
  return std::nullopt;
}

std::vector<ManifestProcess> read_processes(const YamlNode* node, Problems& problems) {
  std::vector<ManifestProcess> out;
  if (node == nullptr || node->is_null()) {
    return out;
  }
  if (!node->is_mapping()) {
    problems.add(node->place,
                 fmt::format("processes: got {}, wanted a mapping of ids", node->described()));
    return out;
  }
  for (const YamlNode::Member& member : node->members) {
    const std::string where = "processes: " + printable(member.key);
    if (const auto placement = read_process(member.value, where, problems)) {
      out.push_back({member.key, *placement, member.key_place});
    }
  }
  return out;
}

}  // namespace quench
