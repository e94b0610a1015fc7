#include "run/manifest/check_requirements.hpp"

#include "core/base/config/version_range.hpp"
#include "core/error.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

void check_plugin(const ManifestRequirement& wanted, const Catalog& catalog, Problems& problems) {
  std::vector<std::string> ids;
  const PluginDescription* found = nullptr;
  for (const PluginDescription& item : catalog.items()) {
    const bool same = item.id == wanted.plugin || item.kind + "/" + item.id == wanted.plugin;
    if (same && found != nullptr) {
      problems.add(wanted.place, fmt::format("requires: {} is a {} and a {}; wanted kind/id",
                                             wanted.plugin, found->kind, item.kind));
      return;
    }
    found = same ? &item : found;
    ids.push_back(item.id);
  }
  if (found == nullptr) {
    const std::string near = nearest(wanted.plugin, ids);
    problems.add(wanted.place,
                 fmt::format("requires: no plugin is called {}{}", printable(wanted.plugin),
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    return;
  }
  if (!wanted.version.value.empty() &&
      !VersionRange(wanted.version.value).contains(found->version)) {
    problems.add(wanted.version.place,
                 fmt::format("requires: plugin {} is {}, wanted {}", wanted.plugin, found->version,
                             wanted.version.value));
  }
  if (!wanted.sha256.value.empty() && wanted.sha256.value != found->sha256) {
    problems.add(wanted.sha256.place,
                 fmt::format("requires: {} has sha256 {}, wanted {}", found->library.string(),
                             found->sha256, wanted.sha256.value));
  }
}

}  // namespace

void check_requirements(const Manifest& manifest, const Catalog& catalog, Problems& problems) {
  for (const ManifestRequirement& wanted : manifest.requirements) {
    if (!wanted.plugin.empty()) {
      check_plugin(wanted, catalog, problems);
    } else if (!VersionRange(wanted.version.value).contains(kVersion)) {
      problems.add(wanted.version.place, fmt::format("requires: quench is {}, wanted {}", kVersion,
                                                     wanted.version.value));
    }
  }
}

}  // namespace quench
