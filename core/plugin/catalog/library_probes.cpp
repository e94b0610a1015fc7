#include "core/plugin/catalog/library_probes.hpp"

#include <optional>
#include <utility>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/code_identity.hpp"
#include "core/plugin/catalog/probe.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "core/plugin/catalog/shipped_descriptions.hpp"
#include "core/plugin/catalog/worker_file.hpp"
#include "core/plugin/catalog/worker_start.hpp"
#include "core/plugin/library/elf_file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr const char* kAskedAgain =
    "; it is asked again when a plugin of its name is wanted, or by `quench plugins rescan`";

// "" where it has none.
std::string build_id_of(const fs::path& library) {
  try {
    return read_elf(library).build_id;
  } catch (const Error& failure) {
    if (failure.code() != QUENCH_INVALID_ARGUMENT && failure.code() != QUENCH_DATA_LOSS) {
      throw;  // what may pass would give the library another identity
    }
    return "";  // no library: probing says what is wrong with it
  }
}

class Probes {
 public:
  Probes(const CatalogOptions& options, std::vector<Catalog::Rejected>& rejected)
      : options_(options),
        rejected_(rejected),
        installed_(own_plugins(options.self)),
        shipped_(own_plugins(options.self)),
        cache_(options.cache_dir) {}

  // Notes the library for probing unless the cache or the list knows it.
  void look_up(const fs::path& library) {
    try {
      Unknown now{library, {}, ""};
      now.entry.confined = options_.sandbox == Sandbox::kStrict && !installed_.has(library);
      now.entry.interpreter = interpreter_for(library, options_.python, now.entry.confined);
      const ProbeEntry* known = cache_.find(library);
      const bool same_links = known != nullptr && cache_.is_current(*known) &&
                              known->interpreter == now.entry.interpreter &&
                              known->confined == now.entry.confined;
      const File file(library);
      if (same_links && known->stamp == file.identity()) {
        installed_.check(library, known->sha256);
        return;
      }
      now.entry.stamp = file.identity();
      now.entry.sha256 = sha256_of(file);
      now.build_id = build_id_of(library);
      installed_.check(library, now.entry.sha256);
      if (same_links && known->sha256 == now.entry.sha256) {
        ProbeEntry same = *known;
        same.stamp = now.entry.stamp;
        cache_.store(library, std::move(same));
      } else if (std::optional<ProbeResult> described = find_shipped(now)) {
        keep(now, std::move(*described));
      } else {
        unknown_.push_back(std::move(now));
      }
    } catch (const Error& failure) {
      cache_.forget(library);
      rejected_.push_back({library, failure.what(), true});
    }
  }

  // Probes what was noted, and keeps what was learnt; how many libraries it was.
  size_t probe() {
    std::vector<fs::path> libraries;
    for (const Unknown& unknown : unknown_) {
      libraries.push_back(unknown.library);
    }
    std::vector<ProbeResult> results = probe_libraries(libraries, options_);
    for (size_t i = 0; i < unknown_.size(); ++i) {
      // One that came with the program does not hang: the machine was busy.
      if (results[i].passing || (results[i].timed_out && installed_.has(libraries[i]))) {
        cache_.forget(libraries[i]);
        rejected_.push_back({libraries[i], std::move(results[i].rejected), true});
      } else {
        keep(unknown_[i], std::move(results[i]));
      }
    }
    cache_.save();
    return unknown_.size();
  }

  // Once for each library, after probe(). Nothing where asking it failed for a reason that passes.
  std::optional<ProbeEntry> take(const fs::path& library) { return cache_.take(library); }

 private:
  // A file that neither the cache nor the list knows; its entry does not say yet what it holds.
  struct Unknown {
    fs::path library;
    ProbeEntry entry;
    std::string build_id;
  };

  std::optional<ProbeResult> find_shipped(const Unknown& unknown) {
    return installed_.has(unknown.library) ? shipped_.find(unknown.library, unknown.build_id)
                                           : std::nullopt;
  }

  void keep(Unknown& unknown, ProbeResult result) {
    ProbeEntry& entry = unknown.entry;
    for (PluginDescription& item : result.items) {
      item.sha256 = entry.sha256;
    }
    if (is_worker_file(unknown.library)) {
      for (const fs::path& file : read_worker_file(unknown.library).files) {
        result.watched.push_back({"worker", file, ""});
      }
    } else if (!entry.interpreter.empty()) {  // another version may make more of a rejected file
      result.watched.push_back({"python", entry.interpreter, ""});
    }
    entry.links = cache_.watch(result.watched);
    if (!result.items.empty() && entry.links.empty()) {  // the items of a library have the same
      entry.links = cache_.watch(result.items.front().links);
    }
    entry.code = code_of(unknown, result);
    entry.rejected = std::move(result.rejected);
    entry.timed_out = result.timed_out;
    entry.items = std::move(result.items);
    cache_.store(unknown.library, std::move(entry));
  }

  // Rejects a Python file that does not say what it stands on.
  static nlohmann::json code_of(const Unknown& unknown, ProbeResult& result) {
    if (is_worker_file(unknown.library)) {
      return code_of_worker(unknown.library, unknown.entry.sha256);
    }
    if (unknown.entry.interpreter.empty() || result.surroundings.is_null()) {
      return code_of_library(unknown.build_id, unknown.entry.sha256);
    }
    try {
      return code_of_python(result.surroundings, unknown.entry.sha256, unknown.entry.interpreter);
    } catch (const std::exception& failure) {
      result.items.clear();
      result.rejected =
          fmt::format("its description cannot be read: {}", printable(failure.what()));
      return nullptr;
    }
  }

  const CatalogOptions& options_;
  std::vector<Catalog::Rejected>& rejected_;
  const InstallationList installed_;
  ShippedDescriptions shipped_;
  ProbeCache cache_;
  std::vector<Unknown> unknown_;
};

}  // namespace

KnownLibraries know_libraries(const std::vector<fs::path>& libraries, const CatalogOptions& options,
                              std::vector<Catalog::Rejected>& rejected) {
  Probes probes(options, rejected);
  for (const fs::path& library : libraries) {
    probes.look_up(library);
  }
  KnownLibraries out;
  out.asked = probes.probe();
  for (const fs::path& library : libraries) {
    std::optional<ProbeEntry> entry = probes.take(library);
    if (entry && entry->rejected.empty()) {
      out.usable.push_back(std::move(*entry));
    } else if (entry) {
      rejected.push_back({library, entry->rejected + (entry->timed_out ? kAskedAgain : ""),
                          entry->timed_out, entry->timed_out});
    }
  }
  return out;
}

std::string ask_again(const CatalogOptions& options, const fs::path& library) {
  const ProbeResult result = probe_libraries({library}, options).front();
  if (!result.timed_out) {
    forget_probes(options.cache_dir);  // others may have met the same busy machine
  }
  return result.rejected;
}

}  // namespace quench
