#include "core/plugin/device_part.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <set>
#include <system_error>

#include "core/error.hpp"
#include "core/plugin/elf_file.hpp"
#include "core/plugin/links.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct Part {
  const char* of;  // soname
  const char* file;
};

constexpr Part kParts[] = {{"libtorch_cpu.so", "libtorch_cuda.so"}};

[[noreturn]] void refuse(quench_device device, const std::string& why) {
  fail(QUENCH_FAILED_PRECONDITION, "device cuda:{}: {}", device.index, why);
}

}  // namespace

std::optional<fs::path> device_part(const std::vector<LinkedLibrary>& links) {
  for (const Part& part : kParts) {
    for (const LinkedLibrary& link : links) {
      if (link.soname == part.of) {
        return link.path.parent_path() / part.file;
      }
    }
  }
  return std::nullopt;
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
    if (!found.contains(soname) && dlopen(soname.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
      out.push_back(soname);
    }
  }
  return out;
}

void load_device_part(const std::vector<LinkedLibrary>& links, quench_device device) {
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
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);  // with another one cuBLAS may add in any order
  if (dlopen(part->c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    refuse(device,
           fmt::format("{} cannot be loaded: {}", part->string(), printable(dlerror(), 400)));
  }
}

}  // namespace quench
