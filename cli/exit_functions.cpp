// Replaces libc's functions that end the process: the dynamic linker binds the calls of plugins,
// and of the libraries they load, to the program's symbols before libc's. Returning from main does
// not call these.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/plugin/calls/process_end.hpp"

namespace {

using Exit = void (*)(int);

// libc's function; nullptr if there is none, which no known libc causes.
Exit next(const char* name) {
  return reinterpret_cast<Exit>(dlsym(RTLD_NEXT, name));
}

// Ends immediately: other threads are at work, and destructors would pull objects from under them.
[[noreturn]] void leave(const char* name, int code) noexcept {
  const std::optional<int> wanted = quench::code_of_end(name, code);
  if (const Exit original = wanted ? nullptr : next(name); original != nullptr) {
    original(code);
  }
  quench::end_process(wanted.value_or(code));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void exit(int code) noexcept {
  leave("exit", code);
}

__attribute__((visibility("default"))) void quick_exit(int code) noexcept {
  leave("quick_exit", code);
}

__attribute__((visibility("default"))) void _exit(int code) {
  leave("_exit", code);
}

__attribute__((visibility("default"))) void _Exit(int code) noexcept {
  leave("_Exit", code);
}
}
