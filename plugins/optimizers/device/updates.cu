#include "optimizers/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::optimizers {

namespace {

template <typename Rule>
int update(const cuda::ForEach<Rule>* kernel, int device, char* why, size_t why_bytes) {
  return cuda::started(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

}  // namespace

extern "C" {

int quench_cuda_adamw(const cuda::ForEach<AdamWElements>* kernel, int device, char* why,
                      size_t why_bytes) {
  return update(kernel, device, why, why_bytes);
}

int quench_cuda_sgd(const cuda::ForEach<SgdElements>* kernel, int device, char* why,
                    size_t why_bytes) {
  return update(kernel, device, why, why_bytes);
}

int quench_cuda_momentum(const cuda::ForEach<MomentumElements>* kernel, int device, char* why,
                         size_t why_bytes) {
  return update(kernel, device, why, why_bytes);
}

int quench_cuda_direction(const cuda::ForEach<DirectionElements>* kernel, int device, char* why,
                          size_t why_bytes) {
  return update(kernel, device, why, why_bytes);
}

int quench_cuda_schedule_free(const cuda::ForEach<ScheduleFreeElements>* kernel, int device,
                              char* why, size_t why_bytes) {
  return update(kernel, device, why, why_bytes);
}

int quench_cuda_schedule_free_average(const cuda::ForEach<ScheduleFreeAverageElements>* kernel,
                                      int device, char* why, size_t why_bytes) {
  return update(kernel, device, why, why_bytes);
}
}

}  // namespace quench::optimizers
