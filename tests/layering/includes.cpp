#include "tests/layering/includes.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
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
  return starts_with_any(target,
                         std::array{"yaml-cpp/", "boost/", "spdlog/", "CLI/", "tbb/", "oneapi/"});
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
    return file.ends_with("/kit/torch.hpp") ? "" : "of the kit, only torch.hpp includes libtorch";
  }
  return is_standard_cpp(include.target) || include.target.starts_with("quench/abi/") ||
                 include.target.starts_with("quench/kit/")
             ? ""
             : "the kit includes the standard library, the ABI and itself only";
}

// The folders of core/run by height; those of one height do not know each other. The runner, in
// core/run itself, stands above all.
constexpr std::array kRunFolders = {std::pair("experiment", 0), std::pair("forward", 0),
                                    std::pair("averaging", 1),  std::pair("corpora", 1),
                                    std::pair("weights", 2),    std::pair("evaluate", 3),
                                    std::pair("transform", 3),  std::pair("quantize", 4),
                                    std::pair("manifest", 5),   std::pair("grid", 5)};
constexpr int kRunner = 6;

// The folder of core/run in which a file lies: "" for core/run itself.
std::string run_folder(const std::string& file) {
  const std::string inside = file.substr(std::string("core/run/").size());
  const size_t slash = inside.find('/');
  return slash == std::string::npos ? "" : inside.substr(0, slash);
}

// Nothing for a folder that the list does not have.
std::optional<int> height(const std::string& run_folder) {
  if (run_folder.empty()) {
    return kRunner;
  }
  const auto* found = std::find_if(kRunFolders.begin(), kRunFolders.end(),
                                   [&](const auto& entry) { return entry.first == run_folder; });
  return found != kRunFolders.end() ? std::optional(found->second) : std::nullopt;
}

// Both files are below core/run.
std::string run_objection(const std::string& file, const std::string& target) {
  const std::string from = run_folder(file);
  const std::string to = run_folder(target);
  if (from == to) {
    return "";
  }
  const std::optional<int> own = height(from);
  const std::optional<int> other = height(to);
  if (!own || !other) {
    return "this folder of core/run has no place in the order of docs/architecture.md";
  }
  return *other < *own ? "" : "this folder of core/run does not stand below";
}

std::string core_objection(const std::string& file, const Include& include) {
  if (is_torch(include.target) || is_cuda(include.target) || include.target == "omp.h" ||
      include.target == "cblas.h") {
    return "the host does no arithmetic: no libtorch, CUDA, OpenMP or BLAS";
  }
  if (include.target.starts_with("quench/kit/")) {
    return "the kit is for plugins";
  }
  if (include.quoted && !include.target.starts_with("core/") &&
      !include.target.starts_with("quench/abi/")) {
    return "the host's own includes are \"core/...\" and \"quench/abi/...\"";
  }
  if (file.starts_with("core/process/") && include.target.starts_with("core/") &&
      !include.target.starts_with("core/process/")) {
    return "core/process stands on the system alone";
  }
  // Folders that `run` and `cli` stand on do not know them; nobody knows `cli` but main.cpp.
  const std::string folder = file.substr(0, file.rfind('/'));
  const bool above = folder == "core" || folder.starts_with("core/cli");
  if (include.target.starts_with("core/cli/") && !above) {
    return "only main.cpp knows the command line";
  }
  if (include.target.starts_with("core/run/") && !above && !folder.starts_with("core/run")) {
    return "core/run stands above this folder";
  }
  if (include.target.starts_with("core/run/") && file.starts_with("core/run/")) {
    return run_objection(file, include.target);
  }
  if (include.target.starts_with("core/train/") && !above && !folder.starts_with("core/run") &&
      !folder.starts_with("core/train")) {
    return "core/train stands above this folder";
  }
  return "";
}

// `file` is plugins/<kind>/<id>/...: it may include its own folder and a library folder of its
// kind, or of all kinds.
std::string plugin_objection(const std::string& file, const Include& include) {
  if (include.target.starts_with("core/")) {
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
  if (file.starts_with("core/")) {
    return core_objection(file, include);
  }
  if (file.starts_with("plugins/") || file.starts_with("sdk/template/")) {
    return plugin_objection(file, include);
  }
  return "";
}

}  // namespace quench::test
