#include "run/manifest/place_plugins.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/table_call.hpp"

namespace quench {

namespace {

// All that a manifest says, of lists in their order.
std::vector<ManifestProcess> processes_of(const Manifest& manifest) {
  std::vector<ManifestProcess> out = manifest.processes;
  const auto add_items = [&](const char* kind, const std::vector<ManifestItem>& items) {
    for (const ManifestItem& item : items) {
      if (item.process) {
        out.push_back({fmt::format("{}/{}", kind, item.id), *item.process, item.process_place});
      }
    }
  };
  add_items("averaging", manifest.averagings);
  add_items("quantizer", manifest.quantizers);
  add_items("metric", manifest.metrics);
  for (const ManifestCorpus& corpus : manifest.corpora) {
    if (corpus.process) {
      out.push_back({"corpus/" + corpus.id, *corpus.process, corpus.process_place});
    }
  }
  return out;
}

std::vector<const PluginDescription*> named_by(const PlacementChoice& choice,
                                               const Catalog& catalog) {
  std::vector<const PluginDescription*> out;
  for (const PluginDescription& item : catalog.items()) {
    if (names(choice, item)) {
      out.push_back(&item);
    }
  }
  return out;
}

// The plugin that `choice` would have in this process, which cannot run it; nullptr if there is
// none.
const PluginDescription* never_shared(const PlacementChoice& choice, const Catalog& catalog) {
  for (const PluginDescription* item : named_by(choice, catalog)) {
    if (choice.placement == Placement::kShared && is_python_file(item->library)) {
      return item;
    }
  }
  return nullptr;
}

// What contradicts `choice`: an earlier one that places a plugin of the same library elsewhere.
std::string contradiction(const PlacementChoice& choice,
                          const std::vector<PlacementChoice>& earlier, const Catalog& catalog) {
  for (const PluginDescription* item : named_by(choice, catalog)) {
    for (const PlacementChoice& other : earlier) {
      if (other.placement == choice.placement) {
        continue;
      }
      for (const PluginDescription* neighbour : named_by(other, catalog)) {
        if (neighbour->library == item->library) {
          return fmt::format("{} says otherwise of {}, and both are in {}", other.said,
                             plugin_label(*neighbour), item->library.string());
        }
      }
    }
  }
  return "";
}

void check_id(const ManifestProcess& process, const PlacementChoice& choice, const Catalog& catalog,
              Problems& problems) {
  if (!named_by(choice, catalog).empty()) {
    return;
  }
  std::vector<std::string> ids;
  for (const PluginDescription& item : catalog.items()) {
    ids.push_back(item.id);
  }
  const std::string near = nearest(process.plugin, ids);
  problems.add(process.place,
               fmt::format("processes: no plugin is called {}{}", printable(process.plugin),
                           near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

}  // namespace

void place_plugins(const Manifest& manifest, Catalog& catalog, Problems& problems) {
  Isolation isolation = catalog.isolation();
  const std::vector<ManifestProcess> processes = processes_of(manifest);
  for (size_t i = 0; i < processes.size(); ++i) {
    const ManifestProcess& process = processes[i];
    PlacementChoice choice{
        process.plugin, process.placement,
        fmt::format("`process: {}` at {}", to_text(process.placement), process.place.text())};
    if (i < manifest.processes.size()) {  // an unknown id of a list is the list's own problem
      check_id(process, choice, catalog, problems);
    }
    if (const PluginDescription* python = never_shared(choice, catalog)) {
      problems.add(process.place,
                   fmt::format("process: shared of {}: {} is written in Python and always runs in "
                               "a process of its own",
                               printable(process.plugin), plugin_label(*python)));
      continue;
    }
    const auto is_same = [&](const PlacementChoice& earlier) {
      return earlier.plugin == choice.plugin && earlier.placement == choice.placement;
    };
    if (std::any_of(isolation.manifest.begin(), isolation.manifest.end(), is_same)) {
      continue;  // another point of the sweep, or of a list
    }
    const std::string other = contradiction(choice, isolation.manifest, catalog);
    if (!other.empty()) {
      problems.add(process.place, fmt::format("process: {} of {}: {}", to_text(process.placement),
                                              printable(process.plugin), other));
    }
    isolation.manifest.push_back(std::move(choice));
  }
  catalog.set_isolation(std::move(isolation));
}

void forget_manifest_places(Catalog& catalog) {
  Isolation isolation = catalog.isolation();
  isolation.manifest.clear();
  catalog.set_isolation(std::move(isolation));
}

}  // namespace quench
