// What is tried, as a library beside the plugins (`lib/quench/host/promises.so`): only `quench
// plugins check` needs it, so that a first build of the program does not wait for it.
#pragma once

#include "promises/promise.hpp"

namespace quench::promises {

struct Library {
  decltype(&promises_of) of;
  decltype(&try_promise) try_one;
};

// The symbol of the library's one function, which returns it; it lives as long as the process.
constexpr const char* kLibrarySymbol = "quench_promises";
using GetLibrary = const Library*();

}  // namespace quench::promises
