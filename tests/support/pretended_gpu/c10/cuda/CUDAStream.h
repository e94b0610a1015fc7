// What plugins/shared/cuda/graphs.cpp asks of libtorch's header of this name, for a GPU that is
// none: its streams are those of pretended_gpu/device.cpp.
#pragma once

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cuda_runtime.h>

namespace c10::cuda {

class CUDAStream {
 public:
  explicit CUDAStream(c10::Stream stream) : stream_(stream) {}
  c10::Stream unwrap() const { return stream_; }
  // NULL is the first stream, as CUDA's is.
  cudaStream_t stream() const { return reinterpret_cast<cudaStream_t>(stream_.id()); }

 private:
  c10::Stream stream_;
};

inline CUDAStream getCurrentCUDAStream(c10::DeviceIndex device) {
  const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  return CUDAStream(guard.getStream(c10::Device(c10::kCUDA, device)));
}
inline CUDAStream getStreamFromPool(bool is_high_priority, c10::DeviceIndex device) {
  const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  return CUDAStream(
      guard.getStreamFromGlobalPool(c10::Device(c10::kCUDA, device), is_high_priority));
}
inline void setCurrentCUDAStream(CUDAStream stream) {
  c10::impl::VirtualGuardImpl(c10::kCUDA).exchangeStream(stream.unwrap());
}

}  // namespace c10::cuda
