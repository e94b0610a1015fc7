// kernels.so, as a plugin calls it: loaded when a GPU first needs it, from where it lies beside the
// folders of plugins.
#pragma once

#include <cstddef>
#include <filesystem>

#include "quench/kit/error.hpp"

namespace quench::cuda {

// Where it lies for the library or program that this code is part of.
std::filesystem::path kernels_file();

// Whether it is there.
bool has_kernels(const std::filesystem::path& kernels = kernels_file());

// The function of that name. Throws FAILED_PRECONDITION in one line if there is no such library.
void* kernel_function(const std::filesystem::path& kernels, const char* name);

// The same, of a function whose declaration is at hand: entry<decltype(quench_cuda_pin)>(...).
template <typename Function>
Function* entry(const std::filesystem::path& kernels, const char* name) {
  return reinterpret_cast<Function*>(kernel_function(kernels, name));
}

// Calls a function that an entries.hpp declares: its kernels run on device number `device`, in
// whose memory all pointers of `arguments` are, after all that libtorch has started there.
template <typename Arguments>
void run_on_gpu(const char* name, const Arguments& arguments, int device,
                const std::filesystem::path& kernels = kernels_file()) {
  char why[256] = {};
  const auto function = entry<int(const Arguments*, int, char*, size_t)>(kernels, name);
  if (function(&arguments, device, why, sizeof why) != 0) {
    kit::fail(QUENCH_INTERNAL, "device cuda:%d: %s", device, why);
  }
}

}  // namespace quench::cuda
