// Stands for the CUDA driver: two GPUs of one model and one of another.
int cuInit(unsigned flags) {
  return flags == 0 ? 0 : 1;
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
