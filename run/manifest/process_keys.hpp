// `process: own` or `process: shared` beside a plugin's id, and the section `processes`, which says
// the same of plugins that no list names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/config/problems.hpp"
#include "core/config/yaml.hpp"
#include "core/plugin/placement.hpp"

namespace quench {

// What a manifest says of one plugin's process.
struct ManifestProcess {
  std::string plugin;  // id, or kind/id
  Placement placement = Placement::kShared;
  Place place;
};

nlohmann::json process_schema();
nlohmann::json processes_schema();

// Nothing after adding a problem. `where`: "quantizers: `process`".
std::optional<Placement> read_process(const YamlNode& value, const std::string& where,
                                      Problems& problems);
// `node` may be nullptr or null.
std::vector<ManifestProcess> read_processes(const YamlNode* node, Problems& problems);

}  // namespace quench
