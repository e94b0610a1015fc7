// The sandbox for interpreters: a library of one C function, which a worker that is no program of
// ours loads (Python by ctypes) before it runs foreign code.
#include <cstdio>
#include <exception>

#include "core/plugin/sandbox/sandbox.hpp"

namespace {

std::vector<std::filesystem::path> paths_of(const char* const* list) {
  std::vector<std::filesystem::path> out;
  for (; list != nullptr && *list != nullptr; ++list) {
    out.emplace_back(*list);
  }
  return out;
}

}  // namespace

// Confines the calling process, which has one thread, for the rest of its life: see enter_sandbox.
// `readable`, `writable`: paths, the last one NULL. `text`: what is in force, or what went wrong,
// as `bytes` allow. 0, or 1 where the process must end.
extern "C" __attribute__((visibility("default"))) int quench_confine_interpreter(
    const char* const* readable, const char* const* writable, char* text, size_t bytes) noexcept {
  try {
    const quench::SandboxRequest request = {
        quench::SandboxProfile::kPython, paths_of(readable), paths_of(writable), {}};
    std::snprintf(text, bytes, "%s", quench::enter_sandbox(request).c_str());
    return 0;
  } catch (const std::exception& failure) {
    std::snprintf(text, bytes, "%s", failure.what());
    return 1;
  }
}
