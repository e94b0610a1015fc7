#include "core/plugin/library/device_part.hpp"

#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "core/plugin/library/elf_file.hpp"
#include "core/plugin/library/library.hpp"
#include "core/plugin/library/links.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kLinked = "libtorch_cpu.so";
constexpr const char* kPart = "libtorch_cuda.so";
constexpr const char* kLater = "libtorch_cuda_linalg.so";  // loaded at the first factorization
constexpr const char* kKernels = "cuda/kernels.so";  // of the folder that has those of plugins

[[noreturn]] void refuse(quench_device device, const std::string& why) {
  fail(QUENCH_INVALID_ARGUMENT, "device cuda:{}: {}", device.index, why);
}

}  // namespace

std::optional<fs::path> device_part(const std::vector<LinkedLibrary>& links) {
  for (const LinkedLibrary& link : links) {
    if (link.soname == kLinked) {
      return link.path.parent_path() / kPart;
    }
  }
  return std::nullopt;
}

namespace {

// With all that it brings; remembered, since files of a run do not change.
const std::vector<LinkedLibrary>& with_brought(const fs::path& library) {
  static auto* known = new std::map<fs::path, std::vector<LinkedLibrary>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known->try_emplace(library);
  std::error_code error;
  if (is_new && fs::exists(library, error)) {
    entry->second = bundled_libraries(library);
    const ElfFile elf = read_elf(library);
    entry->second.push_back({library.filename().string(), library, elf.build_id});
  }
  return entry->second;
}

}  // namespace

std::vector<LinkedLibrary> device_libraries(const PluginDescription& plugin) {
  std::vector<fs::path> files = {plugin.library.parent_path().parent_path() / kKernels};
  if (const std::optional<fs::path> part = device_part(plugin.links)) {
    files.push_back(*part);
    files.push_back(part->parent_path() / kLater);
  }
  std::set<std::string> seen;
  for (const LinkedLibrary& link : plugin.links) {
    seen.insert(link.soname);
  }
  std::vector<LinkedLibrary> out;
  for (const fs::path& file : files) {
    for (const LinkedLibrary& library : with_brought(file)) {
      if (seen.insert(library.soname).second) {
        out.push_back(library);
      }
    }
  }
  return out;
}

std::vector<std::string> missing_libraries(const fs::path& library) {
  std::set<std::string> wanted;
  std::set<std::string> found;
  std::vector<LinkedLibrary> all = bundled_libraries(library);
  all.push_back({"", library, ""});
  for (const LinkedLibrary& one : all) {
    found.insert({one.soname, one.path.filename().string()});
    const ElfFile elf = read_elf(one.path);
    wanted.insert(elf.needed.begin(), elf.needed.end());
  }
  std::vector<std::string> out;
  for (const std::string& soname : wanted) {
    if (!found.contains(soname) && load_object(soname).object == nullptr) {
      out.push_back(soname);
    }
  }
  return out;
}

void require_device_part(const std::vector<LinkedLibrary>& links, quench_device device) {
  const std::optional<fs::path> part = device_part(links);
  if (!part) {
    return;
  }
  std::error_code error;
  if (!fs::exists(*part, error)) {
    refuse(device,
           fmt::format("{} is not there: this is a build for processors only", part->string()));
  }
  if (const std::vector<std::string> missing = missing_libraries(*part); !missing.empty()) {
    refuse(device, fmt::format("{} cannot be loaded: {} {} not installed", part->string(),
                               fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are"));
  }
}

namespace {

LoadedObject open_part(const fs::path& part) {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);  // with another one cuBLAS may add in any order
  setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 0);  // memory in pieces of any size
  return load_object(part);
}

}  // namespace

void load_device_part(const std::vector<LinkedLibrary>& links, quench_device device) {
  const std::optional<fs::path> part = device_part(links);
  if (!part) {
    return;
  }
  require_device_part(links, device);
  if (const LoadedObject opened = open_part(*part); opened.object == nullptr) {
    refuse(device, fmt::format("{} cannot be loaded: {}", part->string(), opened.fault));
  }
}

void load_device_part_if_there(const std::vector<LinkedLibrary>& links) {
  const std::optional<fs::path> part = device_part(links);
  std::error_code error;
  if (part && fs::exists(*part, error)) {
    open_part(*part);
  }
}

}  // namespace quench
