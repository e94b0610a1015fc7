#include "core/plugin/catalog/search_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "core/parse_text.hpp"
#include "core/plugin/catalog/python_file.hpp"
#include "core/plugin/catalog/worker_file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Folders of a search path that hold one kind each: as the build and the installation name them,
// and in the singular.
constexpr const char* kKindFolders[] = {
    "models",    "model",      "quantizers", "quantizer",  "averaging", "metrics",
    "metric",    "corpora",    "corpus",     "tokenizers", "tokenizer", "optimizers",
    "optimizer", "transforms", "transform",  "formats",    "format"};

// A Python file whose name begins with "_" is there for others to import, as __init__.py is.
bool is_plugin_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.extension() == ".so" || is_worker_file(path) ||
         (is_python_file(path) && !name.starts_with('_') && !name.starts_with('.'));
}

std::error_code append_libraries(std::vector<fs::path>& found, const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> here;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_plugin_file(entry->path())) {
      here.push_back(entry->path());
    }
  }
  std::sort(here.begin(), here.end());
  found.insert(found.end(), here.begin(), here.end());
  return error;
}

}  // namespace

fs::path own_plugins(const fs::path& executable) {
  if (executable.empty()) {
    return {};
  }
  const fs::path folder = fs::absolute(executable).lexically_normal().parent_path();
  return (folder / "../lib/quench").lexically_normal();
}

fs::path user_plugins(const PluginEnvironment& environment) {
  if (environment.xdg_data_home && !environment.xdg_data_home->empty()) {
    return fs::path(*environment.xdg_data_home) / "quench/plugins";
  }
  return environment.home && !environment.home->empty()
             ? fs::path(*environment.home) / ".local/share/quench/plugins"
             : fs::path();
}

std::vector<fs::path> default_search_path(const std::vector<fs::path>& command_line,
                                          const fs::path& executable,
                                          const PluginEnvironment& environment) {
  std::vector<fs::path> folders;
  folders.reserve(command_line.size());
  for (const fs::path& folder : command_line) {
    folders.push_back(fs::absolute(folder).lexically_normal());
  }
  const std::string set = environment.plugin_path.value_or("");
  for (const std::string_view folder : split(set, ':')) {
    if (!folder.empty()) {
      folders.emplace_back(folder);
    }
  }
  if (const fs::path user = user_plugins(environment); !user.empty()) {
    folders.push_back(user);
  }
  if (!executable.empty()) {
    folders.push_back(own_plugins(executable));
  }
  return folders;
}

Trusted trusted_with_plugins(const fs::path& executable) {
  Trusted out = {{geteuid()}, {}};
  struct stat status {};
  if (stat(executable.c_str(), &status) == 0) {
    out.users.push_back(status.st_uid);
    if ((status.st_mode & S_IWGRP) != 0) {
      out.groups.push_back(status.st_gid);
    }
  }
  return out;
}

std::string folder_fault(const fs::path& folder, const Trusted& trusted) {
  if (!folder.is_absolute()) {
    return "a relative folder in the search path for plugins; wanted an absolute one";
  }
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error) {
    return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory
               ? ""
               : error.message();
  }
  const std::string fault = distrust_of_folder(real, trusted);
  return fault.empty() || fault == "not a folder" ? fault
                                                  : fault + "; plugins are not loaded from there";
}

std::vector<fs::path> libraries_in(const fs::path& folder, const RefusePath& refuse) {
  std::vector<fs::path> found;
  const auto look_into = [&](const fs::path& each) {
    const std::error_code error = append_libraries(found, each);
    if (refuse && error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory) {
      refuse(each, error.message());
    }
  };
  look_into(folder);
  for (const char* kind : kKindFolders) {
    look_into(folder / kind);
  }
  return found;
}

std::vector<fs::path> find_libraries(const std::vector<fs::path>& search_path,
                                     const Trusted& trusted, const RefusePath& refuse) {
  std::map<fs::path, bool> accepted;  // each folder is looked at, and told of, once
  const auto accept = [&](const fs::path& folder) {
    const auto [known, is_new] = accepted.try_emplace(folder);
    if (is_new) {
      const std::string fault = folder_fault(folder, trusted);
      known->second = fault.empty();
      if (!fault.empty()) {
        refuse(folder, fault);
      }
    }
    return known->second;
  };
  std::vector<fs::path> out;
  std::set<fs::path> seen;
  for (const fs::path& folder : search_path) {
    for (const fs::path& found :
         accept(folder) ? libraries_in(folder, refuse) : std::vector<fs::path>()) {
      std::error_code error;
      const fs::path library = fs::canonical(found, error);
      if (error) {
        refuse(found, error.message());
      } else if (!seen.insert(library).second || !accept(library.parent_path())) {
        continue;
      } else if (const std::string fault = distrust_of_file(library, trusted); !fault.empty()) {
        refuse(library, fault);
      } else {
        out.push_back(library);
      }
    }
  }
  return out;
}

}  // namespace quench
