#include "optimizers/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::optimizers {

namespace {

template <typename Kernel>
int start(const Kernel* kernel, int device, char* why, size_t why_bytes) {
  return cuda::started(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

}  // namespace

extern "C" {

int quench_cuda_adamw(const cuda::ForEach<AdamWElements>* kernel, int device, char* why,
                      size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_sgd(const cuda::ForEach<SgdElements>* kernel, int device, char* why,
                    size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_momentum(const cuda::ForEach<MomentumElements>* kernel, int device, char* why,
                         size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_direction(const cuda::ForEach<DirectionElements>* kernel, int device, char* why,
                          size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_schedule_free(const cuda::ForEach<ScheduleFreeElements>* kernel, int device,
                              char* why, size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_schedule_free_average(const cuda::ForEach<ScheduleFreeAverageElements>* kernel,
                                      int device, char* why, size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_moved(const cuda::ForEach<MovedElements>* kernel, int device, char* why,
                      size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_penalized(const cuda::ForEach<PenalizedElements>* kernel, int device, char* why,
                          size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_chunk_squares(const ChunkSquares* kernel, int device, char* why, size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_round_groups(const RoundGroups* kernel, int device, char* why, size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}
}

}  // namespace quench::optimizers
