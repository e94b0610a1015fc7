// What plugins from elsewhere read besides what the host hands to them, in the keys of values: the
// member `read` of such a plugin's part. Which files it will be is known once a cell was measured.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/services/opened_inputs.hpp"
#include "core/store/fingerprints.hpp"

namespace quench {

// A plugin from elsewhere that takes part in a value.
struct ForeignUse {
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters = nullptr;        // of its instance
  nlohmann::json::json_pointer where{};       // its part of the key
  std::vector<std::filesystem::path> handed;  // files and folders that are in the key otherwise
};

// The files and folders that the plugin's parameters name.
std::vector<std::filesystem::path> named_paths(const PluginDescription& plugin,
                                               const nlohmann::json& parameters);

// The parts with what these plugins have read so far, in place of what they had read before. Throws
// Error(UNAVAILABLE) if something of it has changed since.
nlohmann::json with_reads(nlohmann::json parts, const std::vector<ForeignUse>& uses);
// The first of the plugins that has a parameter of type path and opened what it names unseen, or
// nullptr.
const PluginDescription* unchecked_use(const std::vector<ForeignUse>& uses);

// Which files and variables the plugins of a cell read the last time.
class ReadMemory {
 public:
  explicit ReadMemory(const Fingerprints& fingerprints) : fingerprints_(fingerprints) {}

  // Takes it from the parts of a record.
  void learn(const nlohmann::json& parts);
  // Adds to the parts of a key, which have no such members, what lies there now.
  void add_to(nlohmann::json& parts) const;

 private:
  std::string hash_of(const std::string& file) const;

  const Fingerprints& fingerprints_;
  std::map<std::string, std::string> known_;  // key without them -> the members, as JSON
};

}  // namespace quench
