// All plugins on the search path: found, probed in a child process, cached by content, and loaded
// on demand.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/plugin/description.hpp"
#include "core/plugin/search_path.hpp"
#include "quench/abi/module.h"

namespace quench {

struct ProbeEntry;

struct CatalogOptions {
  std::vector<std::filesystem::path> search_path;  // in order; see search_path.hpp
  std::filesystem::path cache_dir;                 // folder of plugins.json; "": no cache
  std::filesystem::path self;  // the quench executable, which probes as `quench __probe FILE`
  double probe_seconds = 10;   // time limit of one probe
  // Called once, before the first library is loaded into this process.
  std::function<void()> before_loading = {};
  // The code that stands for this one in content keys, where builds were shown to compute the same.
  std::function<nlohmann::json(const nlohmann::json& code)> counts_as = {};
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
  };

  // Scans the search path and probes what the cache does not know. Never throws for a bad library
  // or folder: rejected() lists those.
  explicit Catalog(CatalogOptions options);

  const std::vector<PluginDescription>& items() const { return items_; }  // sorted by kind, id
  const std::vector<Shadowed>& shadowed() const { return shadowed_; }
  const std::vector<Rejected>& rejected() const { return rejected_; }
  const CatalogOptions& options() const { return options_; }
  // Child processes that the constructor started; 0 if the cache knew everything.
  size_t probe_count() const { return probe_count_; }

  // nullptr if there is none. Pointers are valid as long as the catalog.
  const PluginDescription* find(const std::string& kind, const std::string& id) const;
  // Throws Error(NOT_FOUND) with the nearest spelling, the folders searched, and why a library of
  // that name was rejected.
  const PluginDescription& require(const std::string& kind, const std::string& id) const;
  std::vector<const PluginDescription*> of_kind(const std::string& kind) const;

  // Whether the plugin came with this program: its library is in the program's own lib/quench. All
  // others are strangers, whose code runs in this process only if the user names them.
  bool is_shipped(const PluginDescription& description) const;

  // The live item. Loads the library once per process, for good, after checking that its bytes are
  // those that were probed and that it brings no second file under a soname in use. Throws Error.
  const quench_item& load(const PluginDescription& description);

 private:
  void add_library(const ProbeEntry& entry);

  CatalogOptions options_;
  std::filesystem::path own_folder_;
  std::vector<PluginDescription> items_;
  std::vector<Shadowed> shadowed_;
  std::vector<Rejected> rejected_;
  size_t probe_count_ = 0;
};

// Forgets all probes: the next catalog probes every library again (`plugins rescan`).
void forget_probes(const std::filesystem::path& cache_dir);

// Calls `shutdown` of every loaded module, last loaded first. Call it once, at the end of main.
void shutdown_plugins();

}  // namespace quench
