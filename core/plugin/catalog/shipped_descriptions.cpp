#include "core/plugin/catalog/shipped_descriptions.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "core/base/io/atomic_file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/describe.hpp"
#include "core/plugin/catalog/foreign_code.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "core/plugin/library/elf_file.hpp"
#include "core/plugin/library/library.hpp"
#include "core/version.hpp"
#include "quench/abi/status.h"

namespace quench {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kListFile = "descriptions.json";

// Another program makes something else of the same library.
std::string list_version() {
  return fmt::format("ABI {}.{}, quench {}", QUENCH_ABI_MAJOR, QUENCH_ABI_MINOR, kVersion);
}

// The library of that name, or nullptr.
const LinkedLibrary* find_soname(const std::vector<LinkedLibrary>& in, const std::string& soname) {
  const auto found = std::find_if(
      in.begin(), in.end(), [&](const LinkedLibrary& library) { return library.soname == soname; });
  return found == in.end() ? nullptr : &*found;
}

// The library that LD_LIBRARY_PATH leads to, or "".
fs::path find_by_variable(const std::string& soname) {
  for (const fs::path& folder : loader_folders()) {
    std::error_code error;
    fs::path found = fs::canonical(folder / soname, error);
    if (!error) {
      return found;
    }
  }
  return {};
}

// Libraries that came with the program by name and build, since they lie elsewhere where it is
// installed; those of the system with their paths.
json write_links(const json& links, const std::vector<LinkedLibrary>& brought) {
  json out = json::array();
  for (const json& link : links) {
    json written = {{"soname", link.at("soname")}};
    if (find_soname(brought, link.at("soname")) != nullptr) {
      written["build_id"] = link.at("build_id");
    } else {
      written["path"] = link.at("path");
    }
    out.push_back(std::move(written));
  }
  return out;
}

}  // namespace

const json& ShippedDescriptions::libraries() {
  if (!libraries_) {
    libraries_ = json::object();
    loaded_ = loaded_libraries();
    try {
      std::ifstream in(folder_ / kListFile, std::ios::binary);
      std::string text;
      std::getline(in, text, '\0');
      json whole = parse_json(text, kListFile);
      if (whole.at("version") == list_version()) {
        libraries_ = std::move(whole.at("libraries"));
      }
    } catch (const std::exception&) {  // none, or broken: the plugins are asked
    }
  }
  return *libraries_;
}

LinkedLibrary ShippedDescriptions::find_link(const json& written,
                                             const std::vector<LinkedLibrary>& brought) {
  const std::string soname = written.at("soname").get<std::string>();
  if (const LinkedLibrary* found = find_soname(loaded_, soname); found != nullptr) {
    return *found;  // the linker takes what is there
  }
  fs::path path = find_by_variable(soname);
  if (const LinkedLibrary* found = find_soname(brought, soname); path.empty() && found != nullptr) {
    return *found;
  }
  if (path.empty()) {
    path = written.at("path").get<std::string>();
  }
  const auto [known, is_new] = build_ids_.try_emplace(path);
  if (is_new) {
    known->second = read_elf(path).build_id;
  }
  return {soname, path, known->second};
}

std::optional<ProbeResult> ShippedDescriptions::find(const fs::path& library,
                                                     const std::string& build_id) {
  try {
    const auto written = libraries().find(build_id);
    if (build_id.empty() || written == libraries().end()) {
      return std::nullopt;
    }
    json said = *written;
    const std::vector<LinkedLibrary> brought = bundled_libraries(library);
    json links = json::array();
    for (const json& link : written->at("links")) {
      const LinkedLibrary found = find_link(link, brought);
      if (link.value("build_id", found.build_id) != found.build_id) {
        return std::nullopt;
      }
      links.push_back(
          {{"soname", found.soname}, {"path", found.path.string()}, {"build_id", found.build_id}});
    }
    said["links"] = std::move(links);
    ProbeResult out = result_of(said, library);
    return out.rejected.empty() ? std::optional(std::move(out)) : std::nullopt;
  } catch (const std::exception&) {  // a library is gone, or the entry is no entry
    return std::nullopt;
  }
}

bool are_all_built(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kListFile, error) || !fs::exists(folder, error);
}

void write_shipped_descriptions(const fs::path& folder) {
  json libraries = json::object();
  for (const fs::path& found : libraries_in(folder)) {
    try {
      const fs::path library = fs::canonical(found);
      json said = describe_library(library, [](const std::string&) {});
      said["links"] = write_links(said.at("links"), bundled_libraries(library));
      libraries[read_elf(library).build_id] = std::move(said);
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "%s: %s\n", found.c_str(), failure.what());
    }
  }
  write_file_atomically(folder / kListFile,
                        json{{"version", list_version()}, {"libraries", libraries}}.dump());
}

int describe_main() {
  int code = 0;
  try {
    prepare_libraries();
    write_shipped_descriptions(own_plugins(fs::read_symlink("/proc/self/exe")));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "quench __describe: %s\n", failure.what());
    code = 1;
  }
  std::fflush(nullptr);
  _exit(code);  // without the destructors of libraries that are not needed any more
}

}  // namespace quench
