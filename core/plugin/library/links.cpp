#include "core/plugin/library/links.hpp"

#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/io/look.hpp"
#include "core/error.hpp"
#include "core/plugin/library/elf_file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxLibraries = 1024;

// The build id in a segment of notes, as hex, or "".
std::string build_id_in(const char* at, size_t bytes, size_t alignment) {
  const size_t align = alignment == 8 ? 8 : 4;
  const auto padded = [&](size_t size) { return (size + align - 1) / align * align; };
  for (const char* end = at + bytes; at + sizeof(ElfW(Nhdr)) <= end;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* name = at + sizeof note;
    const char* value = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string out;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        out += fmt::format("{:02x}", static_cast<uint8_t>(value[i]));
      }
      return out;
    }
    at = value + padded(note.n_descsz);
  }
  return "";
}

struct Loaded {
  LinkedLibrary library;
  std::vector<std::string> needed;  // names of others
};

// What a library calls itself and those that it needs.
void read_names(const ElfW(Dyn) * entries, ElfW(Addr) base, Loaded& out) {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) {  // the linker has added the base, or has not
      const ElfW(Addr) at = entry->d_un.d_ptr;
      strings = reinterpret_cast<const char*>(at < base ? base + at : at);
    }
  }
  for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL && strings != nullptr; ++entry) {
    if (entry->d_tag == DT_SONAME) {
      out.library.soname = strings + entry->d_un.d_val;
    } else if (entry->d_tag == DT_NEEDED) {
      out.needed.emplace_back(strings + entry->d_un.d_val);
    }
  }
}

// Reads what lies in memory, so whatever has become of the file.
int collect_library(dl_phdr_info* info, size_t, void* libraries) {
  // The program itself has no name, the kernel's page no slash.
  if (info->dlpi_name == nullptr || info->dlpi_name[0] != '/') {
    return 0;
  }
  std::error_code error;  // plugins of each kind reach libtorch by another path
  const fs::path real = fs::canonical(info->dlpi_name, error);
  Loaded loaded{{"", error ? fs::path(info->dlpi_name) : real, ""}, {}};
  LinkedLibrary& library = loaded.library;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    if (segment.p_type == PT_NOTE && library.build_id.empty()) {
      library.build_id = build_id_in(at, segment.p_memsz, segment.p_align);
    } else if (segment.p_type == PT_DYNAMIC) {
      read_names(reinterpret_cast<const ElfW(Dyn)*>(at), info->dlpi_addr, loaded);
    }
  }
  if (library.soname.empty()) {
    library.soname = library.path.filename().string();
  }
  static_cast<std::vector<Loaded>*>(libraries)->push_back(std::move(loaded));
  return 0;
}

std::vector<Loaded> all_loaded() {
  std::vector<Loaded> libraries;
  dl_iterate_phdr(collect_library, &libraries);
  return libraries;
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
      if (want.soname == have.soname && want.path != have.path &&
          (want.build_id.empty() || want.build_id != have.build_id) &&
          !is_same_file(want.path, have.path)) {
        return std::pair(&want, &have);
      }
    }
  }
  return std::nullopt;
}

struct Pending {
  fs::path path;
  std::vector<fs::path> inherited;  // RPATH of the libraries that needed it
};

}  // namespace

std::vector<LinkedLibrary> loaded_libraries() {
  std::vector<LinkedLibrary> libraries;
  for (Loaded& loaded : all_loaded()) {
    libraries.push_back(std::move(loaded.library));
  }
  return libraries;
}

std::vector<LinkedLibrary> needed_libraries(const fs::path& library) {
  const std::vector<Loaded> loaded = all_loaded();
  std::map<std::string, const Loaded*> by_soname;
  std::deque<const Loaded*> pending;
  for (const Loaded& one : loaded) {
    by_soname.emplace(one.library.soname, &one);
    if (one.library.path == library) {
      pending.push_back(&one);
    }
  }
  std::vector<LinkedLibrary> found;
  for (; !pending.empty(); pending.pop_front()) {
    for (const std::string& needed : pending.front()->needed) {
      if (const auto entry = by_soname.extract(needed); !entry.empty()) {
        found.push_back(entry.mapped()->library);
        pending.push_back(entry.mapped());
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

}  // namespace quench
