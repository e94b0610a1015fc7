#include "core/plugin/wire/copy.hpp"

#include <atomic>
#include <cstring>

#include "core/error.hpp"

namespace quench::wire {

namespace {

void copy_here(void* to, const void* from, uint64_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}

std::atomic<Copy> chosen = copy_here;

std::atomic<DeviceCopy> chosen_on_device = nullptr;

}  // namespace

void set_copy(Copy copy) {
  chosen = copy;
}

void copy(void* to, const void* from, uint64_t bytes) {
  if (bytes > 0) {
    chosen.load(std::memory_order_relaxed)(to, from, bytes);
  }
}

void set_device_copy(DeviceCopy copy) {
  chosen_on_device = copy;
}

void require_device_copy(const quench_tensor& tensor) {
  if (tensor.device.type != QUENCH_DEVICE_CPU && chosen_on_device.load() == nullptr) {
    fail(QUENCH_UNSUPPORTED,
         "a plugin in a process of its own takes tensors in host memory, got one on cuda:{}",
         tensor.device.index);
  }
}

void copy_on_device(const quench_tensor& from, const quench_tensor& to) {
  require_device_copy(from);
  require_device_copy(to);
  chosen_on_device.load()(from, to);
}

}  // namespace quench::wire
