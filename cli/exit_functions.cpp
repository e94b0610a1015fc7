// libc's functions that end the process, as the program defines them: the dynamic linker binds the
// calls of plugins, and of libraries that they bring, to the program's symbols before libc's.
// libc's own way out of main does not come through here.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/plugin/process_end.hpp"

namespace {

using Exit = void (*)(int);

// libc's function; nullptr where there is none, which is no libc that we know.
Exit next(const char* name) {
  return reinterpret_cast<Exit>(dlsym(RTLD_NEXT, name));
}

// At once: other threads are at work, and destructors would run under their feet.
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
