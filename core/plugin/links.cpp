#include "core/plugin/links.hpp"

#include <fmt/format.h>
#include <link.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/elf_file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxLibraries = 1024;

int collect_path(dl_phdr_info* info, size_t, void* paths) {
  // The program itself has no name, the kernel's page no slash.
  if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/') {
    static_cast<std::vector<fs::path>*>(paths)->emplace_back(info->dlpi_name);
  }
  return 0;
}

// Expands an `entry` of a RUNPATH of a library in `origin`; "" if it uses an unknown variable.
fs::path expand(std::string entry, const fs::path& origin) {
  for (const char* token : {"$ORIGIN", "${ORIGIN}"}) {
    for (size_t at; (at = entry.find(token)) != std::string::npos;) {
      entry.replace(at, std::string_view(token).size(), origin.string());
    }
  }
  return entry.find('$') == std::string::npos ? fs::path(entry) : fs::path();
}

std::vector<fs::path> expand_all(const std::vector<std::string>& entries, const fs::path& origin) {
  std::vector<fs::path> folders;
  for (const std::string& entry : entries) {
    folders.push_back(expand(entry, origin));
  }
  return folders;
}

fs::path find_in(const std::vector<fs::path>& folders, const std::string& name) {
  for (const fs::path& folder : folders) {
    std::error_code error;
    const fs::path found = fs::canonical(folder / name, error);
    if (!folder.empty() && !error && fs::is_regular_file(found, error)) {
      return found;
    }
  }
  return {};
}

// The first two different files with the same name.
std::optional<std::pair<const LinkedLibrary*, const LinkedLibrary*>> find_clash(
    const std::vector<LinkedLibrary>& wanted, const std::vector<LinkedLibrary>& there) {
  for (const LinkedLibrary& want : wanted) {
    for (const LinkedLibrary& have : there) {
      std::error_code error;
      if (want.soname == have.soname && want.path != have.path &&
          (want.build_id.empty() || want.build_id != have.build_id) &&
          !fs::equivalent(want.path, have.path, error)) {
        return std::pair(&want, &have);
      }
    }
  }
  return std::nullopt;
}

// "needs libc10.so from A, and model llama needs B under that name", or "".
std::string clashing_needs(const PluginDescription& one, const PluginDescription& other) {
  const auto clash = find_clash(one.links, other.links);
  return !clash ? ""
                : fmt::format("needs {} from {}, and {} {} needs {} under that name",
                              clash->first->soname, clash->first->path.string(), other.kind,
                              other.id, clash->second->path.string());
}

struct Pending {
  fs::path path;
  std::vector<fs::path> inherited;  // RPATH of the libraries that needed it
};

}  // namespace

std::vector<LinkedLibrary> loaded_libraries() {
  std::vector<fs::path> paths;
  dl_iterate_phdr(collect_path, &paths);
  std::vector<LinkedLibrary> libraries;
  for (const fs::path& found : paths) {
    std::error_code error;  // plugins of each kind reach libtorch by another path
    const fs::path real = fs::canonical(found, error);
    const fs::path& path = error ? found : real;
    try {
      const ElfFile elf = read_elf(path);
      libraries.push_back(
          {elf.soname.empty() ? path.filename().string() : elf.soname, path, elf.build_id});
    } catch (const Error&) {
      libraries.push_back({path.filename().string(), path, ""});  // replaced since it was loaded
    }
  }
  return libraries;
}

std::vector<LinkedLibrary> needed_libraries(const fs::path& library,
                                            const std::vector<LinkedLibrary>& loaded) {
  std::map<std::string, const LinkedLibrary*> by_soname;
  for (const LinkedLibrary& one : loaded) {
    by_soname.emplace(one.soname, &one);
  }
  std::vector<LinkedLibrary> found;
  std::deque<fs::path> pending{library};
  while (!pending.empty()) {
    const ElfFile elf = read_elf(pending.front());
    pending.pop_front();
    for (const std::string& needed : elf.needed) {
      if (const auto entry = by_soname.extract(needed); !entry.empty()) {
        found.push_back(*entry.mapped());
        pending.push_back(entry.mapped()->path);
      }
    }
  }
  return found;
}

std::vector<LinkedLibrary> bundled_libraries(const fs::path& library) {
  std::vector<LinkedLibrary> found;
  std::deque<Pending> pending{{library, {}}};
  std::set<fs::path> seen{library};
  while (!pending.empty() && seen.size() <= kMaxLibraries) {
    const Pending next = std::move(pending.front());
    pending.pop_front();
    const ElfFile elf = read_elf(next.path);
    if (next.path != library) {
      found.push_back({elf.soname.empty() ? next.path.filename().string() : elf.soname, next.path,
                       elf.build_id});
    }
    // RUNPATH serves a library's own needs; RPATH, without RUNPATH, also its dependencies' needs.
    const fs::path origin = next.path.parent_path();
    std::vector<fs::path> inherited = expand_all(elf.rpath, origin);
    inherited.insert(inherited.end(), next.inherited.begin(), next.inherited.end());
    const std::vector<fs::path> folders =
        elf.runpath.empty() ? inherited : expand_all(elf.runpath, origin);
    for (const std::string& needed : elf.needed) {
      const fs::path path = find_in(folders, needed);
      if (!path.empty() && seen.insert(path).second) {
        pending.push_back({path, elf.runpath.empty() ? inherited : std::vector<fs::path>{}});
      }
    }
  }
  return found;
}

std::string link_conflict(const std::vector<LinkedLibrary>& wanted,
                          const std::vector<LinkedLibrary>& loaded) {
  const auto clash = find_clash(wanted, loaded);
  return !clash ? ""
                : fmt::format("it needs {} from {}, and this process runs {} under that name",
                              clash->first->soname, clash->first->path.string(),
                              clash->second->path.string());
}

std::string displaced_library(const fs::path& library, const std::vector<LinkedLibrary>& loaded) {
  const std::vector<LinkedLibrary> bundled = bundled_libraries(library);
  const auto clash = find_clash(bundled, loaded);
  return !clash
             ? ""
             : fmt::format(
                   "it brings {} as {}, and {} was loaded in its place; look at "
                   "LD_LIBRARY_PATH and LD_PRELOAD",
                   clash->first->soname, clash->first->path.string(), clash->second->path.string());
}

std::string companion_conflict(const PluginDescription& one, const PluginDescription& other) {
  const std::string needs = clashing_needs(one, other);
  return needs.empty()
             ? ""
             : fmt::format("{} {} {}; they cannot run in one process", one.kind, one.id, needs);
}

std::string companion_reason(const PluginDescription& one, const PluginDescription& other) {
  const std::string needs = clashing_needs(one, other);
  return needs.empty() ? "" : "it " + needs;
}

std::string family_conflict(const std::vector<const PluginDescription*>& used,
                            const std::vector<const PluginDescription*>& families) {
  std::string nearest;
  for (const PluginDescription* family : families) {
    std::string conflict;
    for (const PluginDescription* plugin : used) {
      if (conflict.empty()) {
        conflict = companion_conflict(*plugin, *family);
      }
    }
    if (conflict.empty()) {
      return "";
    }
    nearest = nearest.empty() ? conflict : nearest;
  }
  return nearest.empty() ? "" : nearest + "; no other model family goes with it either";
}

}  // namespace quench
