// Where a plugin runs: what came with the program in its process, everything else in a process of
// its own. All items of one library share its code and therefore its process.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/catalog/description.hpp"

namespace quench {

enum class Placement { kShared, kOwn };

// "shared" or "own", as records say it.
inline std::string to_text(Placement placement) {
  return placement == Placement::kOwn ? "own" : "shared";
}

struct Placed {
  Placement placement = Placement::kShared;
  std::string reason = {};  // in words; "" for what came with the program
};

// Plugins that run in the program's process though they did not come with it, because the user said
// so: ids, or kind/id.
struct InProcess {
  std::vector<std::string> command_line;  // --in-process
  std::vector<std::string> manifest;      // its key `in_process`
};

inline bool names(const std::string& name, const PluginDescription& plugin) {
  return name == plugin.id || name == plugin.kind + "/" + plugin.id;
}

}  // namespace quench
