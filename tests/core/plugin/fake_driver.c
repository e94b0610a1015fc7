// Stands for the CUDA driver: two GPUs of one model and one of another.
#include <stddef.h>

int cuInit(unsigned flags) {
  return flags == 0 ? 0 : 1;
}

int cuDriverGetVersion(int* cuda) {
  *cuda = 13020;
  return 0;
}

int cuDeviceGetCount(int* devices) {
  *devices = 3;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal + 100;
  return ordinal >= 0 && ordinal < 3 ? 0 : 101;
}

int cuDeviceGetName(char* name, int bytes, int device) {
  const char* model = device < 102 ? "NVIDIA H200" : "NVIDIA A100-SXM4-80GB";
  int i = 0;
  for (; i + 1 < bytes && model[i] != 0; ++i) {
    name[i] = model[i];
  }
  name[i] = 0;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const int is_hopper = device < 102;
  *value = attribute == 75 ? (is_hopper ? 9 : 8) : 0;
  return attribute == 75 || attribute == 76 ? 0 : 1;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  *bytes = (size_t)(device < 102 ? 141 : 80) * 1000000000;
  return 0;
}
