// libcuda.so.1 of a GPU that is none: what the program asks a driver before any work.
#include <cstddef>
#include <cstdio>

#define QUENCH_EXPORT extern "C" __attribute__((visibility("default")))

QUENCH_EXPORT int cuInit(unsigned) {
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
