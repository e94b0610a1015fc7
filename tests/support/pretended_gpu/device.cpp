// What libtorch asks of CUDA beside operations: one device with memory, streams that are all the
// same, events that are over at once, and host memory that counts as pinned.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstring>
#include <utility>

#include "tests/support/pretended_device/memory.h"

namespace quench::test {

namespace {

const c10::Device kDevice{c10::kCUDA, 0};
constexpr size_t kTotal = size_t{8} << 30;

void expect_ours(c10::Device device) {
  TORCH_CHECK(device.is_cuda() && device.index() <= 0, "this GPU has one device, got ",
              device.str());
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device exchangeDevice(c10::Device device) const override {
    expect_ours(device);
    return kDevice;
  }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device device) const override { expect_ours(device); }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(c10::Device) const override { return current(); }
  c10::Stream getDefaultStream(c10::Device) const override {
    return c10::Stream(c10::Stream::DEFAULT, kDevice);
  }
  c10::Stream getNewStream(c10::Device, int) const override {
    return c10::Stream(c10::Stream::UNSAFE, kDevice, 1);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return getNewStream(device, 0);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return std::exchange(current(), stream);
  }
  void record(void**, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

 private:
  static c10::Stream& current() {
    static thread_local c10::Stream stream(c10::Stream::DEFAULT, kDevice);
    return stream;
  }
};

// Memory begins as NaN, which a GPU's may.
struct Memory final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* made = bytes == 0 ? nullptr : pretended_allocate(bytes);
    TORCH_CHECK_WITH(OutOfMemoryError, bytes == 0 || made != nullptr, "no memory for ", bytes,
                     " bytes");
    if (made != nullptr) {
      std::memset(pretended_inside(made), 0xff, bytes);
    }
    return {made, made, &release, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(pretended_inside(to), pretended_inside(from), bytes);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override { return {}; }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    return {pretended_free(), kTotal};
  }

 private:
  static void release(void* memory) {
    if (memory != nullptr) {
      pretended_release(memory);
    }
  }
};

}  // namespace

// libtorch looks for a class of this name in its registry.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasCUDART() const override { return true; }
  bool hasCuSOLVER() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex current_device() const override { return 0; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::Allocator* getCUDADeviceAllocator() const override { return c10::GetAllocator(c10::kCUDA); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetCPUAllocator(); }
  c10::Device getDeviceFromPtr(void*) const override { return kDevice; }
  void deviceSynchronize(c10::DeviceIndex) const override {}
};

namespace {

const bool kRegistered = [] {
  static Guard guard;
  static Memory memory;
  c10::impl::registerDeviceGuard(c10::kCUDA, &guard);
  c10::SetAllocator(c10::kCUDA, &memory, 1);
  return true;
}();

}  // namespace

}  // namespace quench::test

namespace at {
using quench::test::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks);
}  // namespace at
