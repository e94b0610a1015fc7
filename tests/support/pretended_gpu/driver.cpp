// libcuda.so.1 of a GPU that is none: what the program asks a driver before any work.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define QUENCH_EXPORT extern "C" __attribute__((visibility("default")))

// As NVIDIA's driver does for its profilers: once, the library that a variable names.
QUENCH_EXPORT int cuInit(unsigned) {
  static bool is_first = true;
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (is_first && path != nullptr) {
    is_first = false;
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void* begin = library != nullptr ? dlsym(library, "InitializeInjection") : nullptr;
    if (begin != nullptr) {
      reinterpret_cast<int (*)()>(begin)();
    }
  }
  return 0;
}
QUENCH_EXPORT int cuDriverGetVersion(int* cuda) {
  *cuda = 13000;
  return 0;
}
QUENCH_EXPORT int cuDeviceGetCount(int* devices) {
  *devices = 1;
  return 0;
}
QUENCH_EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
QUENCH_EXPORT int cuDeviceGetName(char* name, int bytes, int) {
  std::snprintf(name, static_cast<size_t>(bytes), "Pretended GPU");
  return 0;
}
QUENCH_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kMajor = 75;
  *value = attribute == kMajor ? 9 : 0;
  return 0;
}
QUENCH_EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{8} << 30;
  return 0;
}
