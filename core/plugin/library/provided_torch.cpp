#include "core/plugin/library/provided_torch.hpp"

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <fstream>
#include <string>
#include <system_error>

#include "core/error.hpp"
#include "core/plugin/library/elf_file.hpp"
#include "core/plugin/library/links.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTorch = "libtorch_cpu.so";
// What plugins say that use the functions alone which libtorch keeps from version to version.
constexpr const char* kStable = "stable";

// Where an installation has the libtorch of its plugins.
fs::path installed_torch() {
  std::error_code error;
  const fs::path program = boost::dll::program_location(error);
  if (error) {
    return {};
  }
  const fs::path prefix = program.parent_path().parent_path();
  const fs::path deps = prefix / "lib/quench/deps";
  // A wheel has no deps: torch lies beside the package.
  return (fs::exists(deps, error) ? deps : prefix.parent_path()) / "torch";
}

// "2.11" of the line __version__ = '2.11.0+cu130', or "".
std::string version_of(const fs::path& torch) {
  constexpr std::string_view kBefore = "__version__ = '";
  std::ifstream in(torch / "version.py");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kBefore)) {
      const std::string version = line.substr(kBefore.size());
      const size_t minor = version.find('.') + 1;
      return version.substr(0, version.find_first_not_of("0123456789", minor));
    }
  }
  return "";
}

}  // namespace

std::vector<fs::path> provided_torch(const fs::path& library) {
  const ElfFile elf = read_elf(library);
  if (elf.torch.empty()) {
    return {};
  }
  const std::vector<LinkedLibrary> bundled = bundled_libraries(library);
  if (std::ranges::find(elf.needed, kTorch) == elf.needed.end() ||
      std::ranges::find(bundled, kTorch, &LinkedLibrary::soname) != bundled.end()) {
    return {};
  }
  const fs::path torch = installed_torch();
  const std::string version = version_of(torch);
  if (version.empty()) {
    fail(QUENCH_FAILED_PRECONDITION,
         "it was built for libtorch {} and brings none, and this quench has none in {}", elf.torch,
         torch.string());
  }
  if (version != elf.torch && elf.torch != kStable) {
    fail(QUENCH_FAILED_PRECONDITION,
         "it was built for libtorch {} and brings none, and this quench has {}: build it against "
         "this quench's SDK, or give it a RUNPATH to a libtorch {}",
         elf.torch, version, elf.torch);
  }
  return {torch / "lib/libc10.so", torch / "lib" / kTorch};
}

std::vector<fs::path> provided_folders(const fs::path& library) {
  std::vector<fs::path> folders;
  for (const fs::path& file : provided_torch(library)) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    folders.push_back(real.parent_path().parent_path());  // its version stands beside lib
    for (const LinkedLibrary& one : bundled_libraries(real)) {
      folders.push_back(one.path.parent_path());
    }
  }
  return folders;
}

}  // namespace quench
