#include "core/plugin/catalog.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/io/file.hpp"
#include "core/io/sha256.hpp"
#include "core/io/trust.hpp"
#include "core/plugin/code_identity.hpp"
#include "core/plugin/elf_file.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/instruction_set.hpp"
#include "core/plugin/library.hpp"
#include "core/plugin/links.hpp"
#include "core/plugin/module_reader.hpp"
#include "core/plugin/plugin_call.hpp"
#include "core/plugin/probe.hpp"
#include "core/plugin/probe_cache.hpp"
#include "core/plugin/process_state.hpp"
#include "core/plugin/table_call.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// The modules of this process, in the order of loading, for the shutdown.
struct Live {
  std::mutex mutex;
  std::map<fs::path, std::pair<const quench_module*, std::vector<PluginDescription>>> modules;
  std::vector<const quench_module*> order;
};

Live& live() {
  static auto* state = new Live;  // outlives static destructors
  return *state;
}

// Call before the first library that may bring an OpenMP runtime, MKL or its own kernels. They get
// one thread, whatever the run has, because their number of threads decides where they split a sum
// or a loop, and therefore the bits; the run's threads are those of parallel_for, whose ranges
// depend only on shapes. Kernels use the run's instruction set.
void prepare_libraries() {
  bind_libraries_to(HostServices::instance().instructions());
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    setenv(name, "1", 1);
  }
  setenv("OMP_DYNAMIC", "false", 1);
}

void check_bytes(const PluginDescription& description, const std::string& sha256) {
  if (sha256 != description.sha256) {
    fail(QUENCH_DATA_LOSS,
         "{}: {} is not the file that was probed (sha256 {} then, {} now); run the command again",
         plugin_label(description), description.library.string(), description.sha256.substr(0, 12),
         sha256.substr(0, 12));
  }
}

void check_links(const PluginDescription& description) {
  std::vector<LinkedLibrary> wanted = bundled_libraries(description.library);
  wanted.insert(wanted.end(), description.links.begin(), description.links.end());
  if (const std::string conflict = link_conflict(wanted, loaded_libraries()); !conflict.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: {}: {}", plugin_label(description),
         description.library.string(), conflict);
  }
}

// Loads, initializes and registers the module of a library.
const quench_module* bring_up(const PluginDescription& description,
                              const std::function<void()>& before_loading) {
  Live& state = live();
  if (state.modules.empty()) {
    if (before_loading) {
      before_loading();
    }
    prepare_libraries();
    keep_process_state();
  }
  const File file(description.library);
  check_bytes(description, sha256_of(file));
  check_links(description);
  const std::string label = plugin_label(description);
  const std::string where = label + ": " + description.library.string();
  try {
    const quench_module* module =
        guarded_call(label, "load", {}, open_library, description.library);
    // The linker opened the file by name; it must still be the file that was hashed.
    if (File(description.library).identity() != file.identity()) {
      fail(QUENCH_DATA_LOSS, "was replaced while it was loaded");
    }
    std::vector<PluginDescription> items = read_module(*module);
    quench_error error{sizeof(quench_error), 0, {}};
    const quench_status status = guarded_call(
        label, "init", {}, module->init, HostServices::instance().host_for(module->id), &error);
    require_process_state(label, "init");
    if (status != QUENCH_OK) {
      throw_status("init", "init", status, error);
    }
    state.modules.emplace(description.library, std::pair(module, std::move(items)));
    state.order.push_back(module);
    return module;
  } catch (const Error& failure) {
    fail(failure.code(), "{}: {}", where, failure.what());
  }
}

struct FileHash {
  std::string sha256;
  std::string build_id;
  FileIdentity stamp;
};

FileHash hash_file(const fs::path& path) {
  const File file(path);
  FileHash out = {sha256_of(file), "", file.identity()};
  try {
    out.build_id = read_elf(path).build_id;
  } catch (const Error&) {  // no library: probing says what is wrong with it
  }
  return out;
}

// What the files behind links are now; each is looked at once, since most plugins share them.
class LinkStamps {
 public:
  std::vector<FileIdentity> of(const std::vector<PluginDescription>& items) {
    std::vector<FileIdentity> out;
    if (!items.empty()) {  // the items of a library have the same links
      for (const LinkedLibrary& link : items.front().links) {
        out.push_back(of(link.path));
      }
    }
    return out;
  }

 private:
  FileIdentity of(const fs::path& path) {
    const auto [entry, is_new] = known_.try_emplace(path);
    if (is_new) {
      try {
        entry->second = File(path).identity();
      } catch (const Error&) {  // gone: that, too, is a state
      }
    }
    return entry->second;
  }

  std::map<fs::path, FileIdentity> known_;
};

auto sort_key(const PluginDescription& item) {
  return std::tie(item.kind, item.id);
}

// The libraries on a search path that may be loaded at all; why others may not goes to `rejected`.
class LibrarySearch {
 public:
  LibrarySearch(const fs::path& self, std::vector<Catalog::Rejected>& rejected)
      : trusted_(trusted_with_plugins(self)), rejected_(rejected) {}

  void add(const fs::path& folder) {
    if (!accept(folder)) {
      return;
    }
    std::set<fs::path> refused_folders;
    for (const fs::path& found : libraries_in(folder)) {
      std::error_code error;
      const fs::path library = fs::canonical(found, error);
      if (error) {
        rejected_.push_back({found, error.message()});
        continue;
      }
      const fs::path holder = library.parent_path();
      if (refused_folders.contains(holder) || !seen_.insert(library).second) {
        continue;
      }
      if (holder != folder && !accept(holder)) {
        refused_folders.insert(holder);
        continue;
      }
      if (std::string fault = distrust_of_file(library, trusted_); !fault.empty()) {
        rejected_.push_back({library, std::move(fault)});
        continue;
      }
      found_.push_back(library);
    }
  }

  // Canonical, in order of precedence.
  const std::vector<fs::path>& found() const { return found_; }

 private:
  bool accept(const fs::path& folder) {
    const std::string fault = folder_fault(folder, trusted_);
    if (!fault.empty()) {
      rejected_.push_back({folder, fault});
    }
    return fault.empty();
  }

  Trusted trusted_;
  std::vector<Catalog::Rejected>& rejected_;
  std::set<fs::path> seen_;
  std::vector<fs::path> found_;
};

// What each library holds: from the cache where its content and links are what they were, else
// probed.
class LibraryProbes {
 public:
  LibraryProbes(const CatalogOptions& options, std::vector<Catalog::Rejected>& rejected)
      : options_(options), rejected_(rejected), cache_(options.cache_dir) {}

  // Notes the library for probing unless the cache knows it.
  void look_up(const fs::path& library) {
    try {
      const ProbeEntry* entry = cache_.find(library);
      const bool same_links = entry != nullptr && entry->link_stamps == stamps_.of(entry->items);
      if (same_links && entry->stamp == File(library).identity()) {
        return;
      }
      FileHash hash = hash_file(library);
      if (same_links && entry->sha256 == hash.sha256) {
        ProbeEntry same = *entry;
        same.stamp = hash.stamp;
        cache_.store(library, std::move(same));
        return;
      }
      unknown_.push_back(library);
      hashes_.push_back(std::move(hash));
    } catch (const Error& failure) {
      rejected_.push_back({library, failure.what()});
    }
  }

  // Probes what was noted, and keeps what was learnt; how many libraries it was.
  size_t probe() {
    std::vector<ProbeResult> results =
        probe_libraries(unknown_, {options_.self, options_.probe_seconds, false});
    for (size_t i = 0; i < unknown_.size(); ++i) {
      if (results[i].timed_out) {  // perhaps a busy machine: probe it again next time
        cache_.forget(unknown_[i]);
        rejected_.push_back({unknown_[i], std::move(results[i].rejected)});
        continue;
      }
      for (PluginDescription& item : results[i].items) {
        item.sha256 = hashes_[i].sha256;
      }
      std::vector<FileIdentity> link_stamps = stamps_.of(results[i].items);
      cache_.store(unknown_[i], {hashes_[i].stamp, hashes_[i].sha256,
                                 std::move(hashes_[i].build_id), std::move(link_stamps),
                                 std::move(results[i].rejected), std::move(results[i].items)});
    }
    cache_.save();
    return unknown_.size();
  }

  // nullptr where the library was rejected.
  const ProbeEntry* find(const fs::path& library) const { return cache_.find(library); }

 private:
  const CatalogOptions& options_;
  std::vector<Catalog::Rejected>& rejected_;
  ProbeCache cache_;
  LinkStamps stamps_;
  std::vector<fs::path> unknown_;
  std::vector<FileHash> hashes_;  // of `unknown_`
};

}  // namespace

Catalog::Catalog(CatalogOptions options) : options_(std::move(options)) {
  std::error_code absent;
  own_folder_ = fs::canonical(own_plugins(options_.self), absent);
  LibrarySearch search(options_.self, rejected_);
  for (const fs::path& folder : options_.search_path) {
    search.add(folder);
  }
  LibraryProbes probes(options_, rejected_);
  for (const fs::path& library : search.found()) {
    probes.look_up(library);
  }
  probe_count_ = probes.probe();
  for (const fs::path& library : search.found()) {
    if (const ProbeEntry* entry = probes.find(library); entry == nullptr) {
      continue;  // rejected above
    } else if (!entry->rejected.empty()) {
      rejected_.push_back({library, entry->rejected});
    } else {
      add_library(*entry);
    }
  }
  std::sort(items_.begin(), items_.end(),
            [](const auto& a, const auto& b) { return sort_key(a) < sort_key(b); });
}

void Catalog::add_library(const ProbeEntry& entry) {
  nlohmann::json code = code_of_library(entry.build_id, entry.sha256);
  if (options_.counts_as) {
    code = options_.counts_as(code);
  }
  for (PluginDescription item : entry.items) {
    item.code = code;
    if (const PluginDescription* first = find(item.kind, item.id); first != nullptr) {
      shadowed_.push_back({std::move(item), first->library});
    } else {
      items_.push_back(std::move(item));
    }
  }
}

const PluginDescription* Catalog::find(const std::string& kind, const std::string& id) const {
  for (const PluginDescription& item : items_) {
    if (item.kind == kind && item.id == id) {
      return &item;
    }
  }
  return nullptr;
}

const PluginDescription& Catalog::require(const std::string& kind, const std::string& id) const {
  if (const PluginDescription* found = find(kind, id); found != nullptr) {
    return *found;
  }
  std::vector<std::string> ids;
  for (const PluginDescription* item : of_kind(kind)) {
    ids.push_back(item->id);
  }
  std::string message = fmt::format("no {} is called {}", kind, printable(id));
  if (const std::string near = nearest(id, ids); !near.empty()) {
    message += fmt::format("; did you mean {}?", near);
  } else if (!ids.empty()) {
    message += fmt::format("; there are {}", fmt::join(ids, ", "));
  }
  for (const Rejected& rejected : rejected_) {
    if (rejected.library.stem() == id) {
      message += fmt::format("; {} was rejected: {}", rejected.library.string(), rejected.reason);
    }
  }
  std::vector<std::string> folders;
  for (const fs::path& folder : options_.search_path) {
    folders.push_back(folder.string());
  }
  fail(QUENCH_NOT_FOUND, "{}; looked in {}", message, fmt::join(folders, ", "));
}

std::vector<const PluginDescription*> Catalog::of_kind(const std::string& kind) const {
  std::vector<const PluginDescription*> found;
  for (const PluginDescription& item : items_) {
    if (item.kind == kind) {
      found.push_back(&item);
    }
  }
  return found;
}

bool Catalog::is_shipped(const PluginDescription& description) const {
  const auto [own, rest] = std::mismatch(own_folder_.begin(), own_folder_.end(),
                                         description.library.begin(), description.library.end());
  return !own_folder_.empty() && own == own_folder_.end();
}

const quench_item& Catalog::load(const PluginDescription& description) {
  Live& state = live();
  const std::lock_guard lock(state.mutex);
  const auto known = state.modules.find(description.library);
  const quench_module* module = known != state.modules.end()
                                    ? known->second.first
                                    : bring_up(description, options_.before_loading);
  const std::vector<PluginDescription>& items = state.modules.at(description.library).second;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == description.kind && items[i].id == description.id) {
      if (description_to_json(items[i]) != description_to_json(description)) {
        fail(QUENCH_DATA_LOSS, "{}: {} describes it differently than when it was probed",
             plugin_label(description), description.library.string());
      }
      return *module->items[i];
    }
  }
  fail(QUENCH_DATA_LOSS, "{}: {} does not offer it any more", plugin_label(description),
       description.library.string());
}

void forget_probes(const fs::path& cache_dir) {
  std::error_code error;
  fs::remove(ProbeCache::file_in(cache_dir), error);
  if (error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: {}", ProbeCache::file_in(cache_dir).string(),
         error.message());
  }
}

void shutdown_plugins() {
  Live& state = live();
  const std::lock_guard lock(state.mutex);
  for (; !state.order.empty(); state.order.pop_back()) {
    if (state.order.back()->shutdown != nullptr) {
      const PluginCall call(state.order.back()->id, "shutdown");
      state.order.back()->shutdown();
    }
  }
}

}  // namespace quench
