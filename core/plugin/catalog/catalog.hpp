// All plugins on the search path: found, probed in a child process, cached by content, and loaded
// on demand.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/plugin/catalog/description.hpp"
#include "core/plugin/catalog/installation_list.hpp"
#include "core/plugin/catalog/python_file.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "core/plugin/services/devices.hpp"
#include "quench/abi/module.h"

namespace quench {

// Where a plugin runs: what came with the program in its process, everything else in a process of
// its own. All items of one library share its code and therefore its process.
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

struct ProbeEntry;

// Whether a plugin in a process of its own is kept from files and the network.
enum class Sandbox { kStrict, kOff };

struct CatalogOptions {
  std::vector<std::filesystem::path> search_path;  // in order; see search_path.hpp
  std::filesystem::path cache_dir;                 // folder of plugins.json; "": no cache
  std::filesystem::path self;  // the quench executable, which probes as `quench __probe FILE`
  double probe_seconds = 10;   // time limit of one probe
  // Called once, before the first library is loaded into this process.
  std::function<void()> before_loading = {};
  // The code that stands for this one in content keys, where builds were shown to compute the same.
  std::function<nlohmann::json(const nlohmann::json& code)> counts_as = {};
  // The item, served by a process of its own; it outlives the catalog. Empty: this program starts
  // no such processes, and all plugins share its own.
  std::function<const quench_item&(const PluginDescription&)> load_in_worker = {};
  // How often that process was started; one more once it has ended.
  std::function<uint64_t(const PluginDescription&)> starts_in_worker = {};
  Sandbox sandbox = Sandbox::kStrict;
  PythonSetup python = {};  // for plugins that are Python files; no package: own_python(self)
};

class Catalog {
 public:
  struct Shadowed {
    PluginDescription item;
    std::filesystem::path by;  // the library that comes first on the search path
  };
  struct Rejected {
    std::filesystem::path library;  // or the refused folder
    std::string reason;
    // Another command may find otherwise: for want of memory, say, or of an answer in time.
    bool passing = false;
    bool timed_out = false;  // is remembered until it is named
  };

  // Scans the search path and probes what the cache does not know. Never throws for a bad library
  // or folder: rejected() lists those.
  explicit Catalog(CatalogOptions options);

  const std::vector<PluginDescription>& items() const { return items_; }  // sorted by kind, id
  const std::vector<Shadowed>& shadowed() const { return shadowed_; }
  // Plugins of others that stand in the place of one that came with the program, one line each.
  std::vector<std::string> replaced() const;
  const std::vector<Rejected>& rejected() const { return rejected_; }
  // "; FILE was rejected: why" for the first of those of which that may pass, that lie in a folder
  // of this kind, or that bear one of these names; "" if there are none.
  std::string rejected_of(const std::string& kind, const std::vector<std::string>& names) const;
  const CatalogOptions& options() const { return options_; }
  // Child processes that the constructor started; 0 if the cache knew everything.
  size_t probe_count() const { return probe_count_; }

  // nullptr if there is none. Pointers are valid as long as the catalog.
  const PluginDescription* find(const std::string& kind, const std::string& id) const;
  // Throws Error(NOT_FOUND) with the nearest spelling, the folders searched, and why a library of
  // that name was rejected; UNAVAILABLE where that may pass. One that did not answer in time is
  // asked again.
  const PluginDescription& require(const std::string& kind, const std::string& id) const;
  std::vector<const PluginDescription*> of_kind(const std::string& kind) const;

  // Whether all plugins that come with this program are built.
  bool is_whole() const;
  // Whether the plugin came with this program: its library is in the program's own lib/quench, and
  // in its list where there is one. All others run in this process only if the user says so.
  bool is_shipped(const PluginDescription& description) const;

  // What the user wants in this process. Changes count for libraries that are not loaded yet.
  InProcess& in_process() { return in_process_; }
  // By path, the tokenizers that the user said read these files; nullptr: named without one.
  std::map<std::string, const PluginDescription*>& tokenizers() { return tokenizers_; }
  // What is wrong with such a name, or "": no plugin has it, or one in Python, which never runs
  // here.
  std::string in_process_fault(const std::string& name) const;
  // Where the plugin's library runs.
  Placed placed(const PluginDescription& description) const;

  // Says that plugins of this process may compute on this device, too, before the first of them is
  // loaded: the part of their libraries that does comes first (device_part.hpp). Throws
  // Error(INVALID_ARGUMENT) if the machine does not have it, or not that part. A process of its own
  // computes on the processor only.
  void compute_on(quench_device device, const char* driver = kCudaDriver);
  // The same for a plan, on a machine that may have neither: plugins that are loaded
  // from now on find the device if it is there.
  void expect_device(quench_device device) { expected_ = device; }

  // Of a plugin in a process of its own, what CatalogOptions::starts_in_worker says; else 0.
  // Another number than when an instance was made: the instance is gone.
  uint64_t starts(const PluginDescription& description) const;
  // The live item: from a process of its own where it is placed in one. Else loads the library once
  // per process, for good, after checking that its bytes are those that were probed and that it
  // brings no second file under a soname in use. Throws Error.
  const quench_item& load(const PluginDescription& description);

 private:
  void add_library(ProbeEntry entry);

  CatalogOptions options_;
  InstallationList installed_;
  std::vector<PluginDescription> items_;
  std::vector<Shadowed> shadowed_;
  std::vector<Rejected> rejected_;
  size_t probe_count_ = 0;
  InProcess in_process_;
  std::map<std::string, const PluginDescription*> tokenizers_;
  quench_device device_ = {QUENCH_DEVICE_CPU, 0};
  quench_device expected_ = {QUENCH_DEVICE_CPU, 0};
};

// Forgets all probes: the next catalog probes every library again (`plugins rescan`).
void forget_probes(const std::filesystem::path& cache_dir);

// Calls `shutdown` of every loaded module, last loaded first. Call it once, at the end of main.
void shutdown_plugins();

}  // namespace quench
