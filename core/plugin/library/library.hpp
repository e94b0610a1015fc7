// Opens shared objects in this process, plugins and others.
#pragma once

#include <filesystem>
#include <string>

#include "quench/abi/module.h"

namespace boost::dll {
class shared_library;
}

namespace quench {

struct LoadedObject {
  boost::dll::shared_library* object = nullptr;  // lives until the process ends
  std::string fault;                             // the linker's message where there is none
};

// Loads the shared object of this path, or of this name where the system looks for libraries
// (RTLD_NOW, RTLD_LOCAL), and never unloads it: it may have threads, and others its constants.
LoadedObject load_object(const std::filesystem::path& path);

// Loads a plugin's library and calls its entry; returns the same module for the same path. `path`:
// canonical. Throws Error(FAILED_PRECONDITION) without the path in its message: the linker's
// message, no entry symbol, another library's entry, the program itself; UNAVAILABLE where it
// lacked memory or descriptors. Does not examine the module.
const quench_module* open_library(const std::filesystem::path& path);

// Call before the first library that may bring an OpenMP runtime, MKL or its own kernels. They get
// one thread, whatever the run has, because their number of threads decides where they split a sum
// or a loop, and therefore the bits; the run's threads are those of parallel_for, whose ranges
// depend only on shapes. Kernels use the run's instruction set.
void prepare_libraries();

}  // namespace quench
