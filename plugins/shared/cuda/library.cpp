#include "shared/cuda/library.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace quench::cuda {

namespace fs = std::filesystem;

namespace {

fs::path find_kernels_file() {
  Dl_info here{};
  dladdr(reinterpret_cast<const void*>(&kernels_file), &here);
  std::error_code error;
  const fs::path own = fs::canonical(here.dli_fname == nullptr ? "" : here.dli_fname, error);
  return own.parent_path().parent_path() / "cuda/kernels.so";
}

void* find_function(const fs::path& kernels, const char* name) {
  std::error_code error;
  if (!fs::exists(kernels, error)) {
    kit::fail(QUENCH_FAILED_PRECONDITION,
              "%s is not there: this build has no %s for GPUs (docs/gpu.md)", kernels.c_str(),
              kernels.stem().c_str());
  }
  void* library = dlopen(kernels.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
  void* function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) {
    kit::fail(QUENCH_FAILED_PRECONDITION, "the kernels for GPUs: %s", dlerror());
  }
  return function;
}

}  // namespace

fs::path kernels_file() {
  static const fs::path found = find_kernels_file();
  return found;
}

bool has_kernels(const fs::path& kernels) {
  std::error_code error;
  return fs::exists(kernels, error);
}

void* kernel_function(const fs::path& kernels, const char* name) {
  static std::mutex mutex;
  static auto* known = new std::map<std::pair<fs::path, std::string>, void*>;
  const std::lock_guard lock(mutex);
  void*& function = (*known)[{kernels, name}];
  if (function == nullptr) {
    function = find_function(kernels, name);
  }
  return function;
}

}  // namespace quench::cuda
