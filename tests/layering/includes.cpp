#include "tests/layering/includes.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <regex>
#include <sstream>
#include <utility>

#include "tests/layering/source_tree.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace fs = std::filesystem;

namespace {

template <size_t N>
bool starts_with_any(const std::string& text, const std::array<const char*, N>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* prefix) { return text.starts_with(prefix); });
}

bool is_torch(const std::string& target) {
  return starts_with_any(target, std::array{"torch/", "ATen/", "c10/", "caffe2/"});
}

bool is_cuda(const std::string& target) {
  return starts_with_any(target, std::array{"cuda", "cub/", "cublas", "cusolver", "cusparse",
                                            "curand", "nvrtc", "nccl", "thrust/"});
}

bool is_host_library(const std::string& target) {
  return starts_with_any(target, std::array{"yaml-cpp/", "boost/", "CLI/", "tbb/", "oneapi/"});
}

bool is_of_host(const std::string& path) {
  return starts_with_any(path, std::array{"core/", "train/", "run/", "cli/"});
}

bool is_standard_cpp(const std::string& target) {
  return target.find('/') == std::string::npos && target.find('.') == std::string::npos;
}

std::string abi_objection(const Include& include) {
  const bool c_header = include.target == "stdint.h" || include.target == "stddef.h";
  return c_header || include.target.starts_with("quench/abi/")
             ? ""
             : "the ABI includes <stdint.h>, <stddef.h> and itself only";
}

std::string kit_objection(const std::string& file, const Include& include) {
  if (is_torch(include.target)) {
    const bool may =
        file.ends_with("/kit/torch.hpp") || (file.ends_with("/kit/torch_stable.hpp") &&
                                             include.target.starts_with("torch/csrc/stable/"));
    return may ? "" : "of the kit, only torch.hpp and torch_stable.hpp include libtorch";
  }
  return is_standard_cpp(include.target) || include.target.starts_with("quench/abi/") ||
                 include.target.starts_with("quench/kit/")
             ? ""
             : "the kit includes the standard library, the ABI and itself only";
}

// The library of the host that a file belongs to: that of the nearest folder above it which has
// one.
const HostLibrary* library_of(const std::string& file) {
  for (fs::path folder = fs::path(file).parent_path(); !folder.empty();
       folder = folder.parent_path()) {
    for (const HostLibrary& library : host_libraries()) {
      if (library.folder == folder) {
        return &library;
      }
    }
  }
  return nullptr;
}

// Whether `from` names `name` among what it stands on, or something below does.
bool stands_on(const HostLibrary& from, const std::string& name) {
  return std::any_of(from.links.begin(), from.links.end(), [&](const std::string& link) {
    const auto below = std::find_if(host_libraries().begin(), host_libraries().end(),
                                    [&](const HostLibrary& each) { return each.name == link; });
    return link == name || (below != host_libraries().end() && stands_on(*below, name));
  });
}

std::string host_objection(const std::string& file, const Include& include) {
  if (is_torch(include.target) || is_cuda(include.target) || include.target == "omp.h" ||
      include.target == "cblas.h") {
    return "the host does no arithmetic: no libtorch, CUDA, OpenMP or BLAS";
  }
  if (include.target.starts_with("quench/kit/")) {
    return "the kit is for plugins";
  }
  if (!include.quoted || include.target.starts_with("quench/abi/")) {
    return "";
  }
  if (include.target.starts_with("promises/")) {
    return file.starts_with("cli/") ? "" : "of the host, only the command line tries promises";
  }
  const HostLibrary* own = library_of(file);
  const HostLibrary* other = library_of(include.target);
  if (own == nullptr || other == nullptr) {
    return "the host includes \"quench/abi/...\" and headers of folders with an add_host_library";
  }
  return own == other || stands_on(*own, other->name)
             ? ""
             : "the library " + own->name + " does not name " + other->name +
                   " among what it stands on";
}

std::string promises_objection(const std::string& file, const Include& include) {
  if (is_torch(include.target) || is_cuda(include.target)) {
    return "promises are tried on the SDK alone";
  }
  if (file.starts_with("promises/served_candidate.")) {
    return "";
  }
  if (is_host_library(include.target)) {
    return "promises are tried on the SDK alone";
  }
  return is_of_host(include.target)
             ? "promises know the SDK, not the host, but for what serves a candidate"
             : "";
}

// `file` is plugins/<kind>/<id>/...: it may include its own folder and a library folder of its
// kind, or of all kinds.
std::string plugin_objection(const std::string& file, const Include& include) {
  if (include.quoted && is_of_host(include.target)) {
    return "plugins know the SDK, not the host";
  }
  if (is_host_library(include.target)) {
    return "parameters, log and threads come from the host";
  }
  for (const fs::path& base : {fs::path(file).parent_path(), fs::path("plugins"), fs::path(".")}) {
    const fs::path found = (base / include.target).lexically_normal();
    if (!include.quoted || !fs::exists(source_dir() / found) || *found.begin() != "plugins") {
      continue;
    }
    const std::string own = fs::path(file).parent_path().generic_string() + "/";
    for (const PluginFolder& plugin : plugin_folders()) {
      const std::string other = plugin.path() + "/";
      if (found.generic_string().starts_with(other) && !own.starts_with(other)) {
        return "one plugin does not include another; share a static library beside them";
      }
    }
    if (file.starts_with("sdk/template/decoder/") &&
        found.generic_string().starts_with("plugins/models/decoder/")) {
      return "";  // a library that is installed with the SDK
    }
    const auto kind = [](const fs::path& path) { return *std::next(path.begin()); };
    return kind(found) == kind(file) || kind(found) == "shared"
               ? ""
               : "kinds of plugins do not include each other";
  }
  return "";
}

}  // namespace

std::vector<Include> includes_of(const std::string& text) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)re");
  std::vector<Include> found;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_match(line, match, pattern)) {
      found.push_back({number, match[2], match[1] == "\""});
    }
  }
  return found;
}

std::string objection(const std::string& file, const Include& include) {
  if (file.starts_with("sdk/include/quench/abi/")) {
    return abi_objection(include);
  }
  if (file.starts_with("sdk/include/quench/kit/")) {
    return kit_objection(file, include);
  }
  if (file.starts_with("promises/")) {
    return promises_objection(file, include);
  }
  if (is_of_host(file)) {
    return host_objection(file, include);
  }
  if (file.starts_with("plugins/") || file.starts_with("sdk/template/")) {
    return plugin_objection(file, include);
  }
  return "";
}

}  // namespace quench::test
