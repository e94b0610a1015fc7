// Which plugins run in this process and which in a process of their own: the rules. They speak of
// libraries, because all items of one library share its code and therefore its process.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/description.hpp"

namespace quench {

enum class Placement { kShared, kOwn };

// "shared" or "own", as manifests and records say it.
std::string to_text(Placement placement);

struct Placed {
  Placement placement = Placement::kShared;
  std::string reason;  // in words; "" for what came with the program
  bool fixed = false;  // the user said so: a clash is then refused, not resolved
};

// What the user said of one plugin.
struct PlacementChoice {
  std::string plugin;  // id, or kind/id
  Placement placement = Placement::kOwn;
  std::string said;  // where and how: "`process: own` at m.yaml:3:5"
};

struct Isolation {
  enum class Extent { kUsual, kNone, kAll };
  Extent extent = Extent::kUsual;
  std::vector<PlacementChoice> command_line;  // these count first, then `extent`
  std::vector<PlacementChoice> manifest;      // these only where the command line says nothing
};

// The values of --isolate: none, all, or a plugin's id or kind/id. Throws Error(INVALID_ARGUMENT)
// for none beside all.
Isolation parse_isolation(const std::vector<std::string>& values);

bool names(const PlacementChoice& choice, const PluginDescription& plugin);

// Where a library runs that does not clash with another: what the user said of any of its `items`,
// else shared if it is `shipped` with the program, else in a process of its own. A Python file
// always runs in one.
Placed place_library(const std::vector<const PluginDescription*>& items, bool shipped,
                     const Isolation& isolation);

// "quantizer gptq2 runs in a process of its own: not part of this installation"
std::string own_process_line(const PluginDescription& plugin, const std::string& reason);

// The message of a clash that stays, with what `because`, the user's own word, has to go.
std::string clash_refusal(const std::string& conflict, const std::string& because);

// Plugins of one group may share a worker. By now that is a library.
std::string worker_group(const PluginDescription& plugin);

// A plugin that would run in this process.
struct Candidate {
  const PluginDescription* plugin = nullptr;
  bool shipped = false;
  bool movable = false;      // may run in a process of its own
  bool is_loaded = false;    // this process holds it
  std::string because = {};  // what keeps it from moving, for the message; may be ""
};

// What is to be done so that the candidates can share a process.
struct Resolution {
  struct Move {
    const PluginDescription* plugin;
    std::string reason;
  };
  std::vector<Move> apart;           // at most one per library
  std::vector<std::string> refused;  // clashes of plugins that must not move, each names both files
  std::vector<const PluginDescription*> together;  // all others
};

// Looks for different files under one soname among the candidates and `loaded`, what this process
// maps. Of two that clash, the one goes apart that did not come with the program, else the later.
Resolution resolve_clashes(std::vector<Candidate> candidates,
                           const std::vector<LinkedLibrary>& loaded);

}  // namespace quench
