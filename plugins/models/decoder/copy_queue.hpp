// Copies to a device that run beside what it computes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <optional>

namespace quench::decoder {

// On a GPU a stream of its own, on the processor none: its copies are made at once.
// Memory of the tensors belongs to the device's current stream, as everything else that libtorch
// allocates; join() must be called before such memory is read, overwritten or released.
class CopyQueue {
 public:
  explicit CopyQueue(at::Device device);

  // Call before the first copy into memory that was just allocated: what the device has been told
  // so far may still use it.
  void follow();
  // Begins a copy; `from` must be pinned if the device is a GPU, and stay as it is until wait().
  void copy(const at::Tensor& from, const at::Tensor& to);
  // What the device is told from now on runs after the copies begun so far.
  void join();
  // Returns when the copies begun so far are made.
  void wait();

 private:
  struct Lane {
    c10::Stream stream;
    c10::Event told;  // what the device had been told at follow()
    c10::Event made;  // the copies begun so far
  };
  at::Device device_;
  std::optional<Lane> lane_;
};

}  // namespace quench::decoder
