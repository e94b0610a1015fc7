// Memory that two processes share, page-locked by kernels.so, as the host hands it to a family.
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <vector>

#include "quench/kit/error.hpp"
#include "shared/cuda/device_memory.hpp"
#include "shared/cuda/entries.h"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"

namespace quench::test {

namespace {

const std::filesystem::path kKernels = binary_dir() / "lib/quench/cuda/kernels.so";
constexpr size_t kBytes = size_t{8} << 20;
constexpr size_t kPinned = size_t{4} << 20;

bool has_gpu() {
  skip_unless(std::filesystem::exists(kKernels), "this build has no kernels for GPUs: no nvcc");
  char why[256] = {};
  return reinterpret_cast<decltype(quench_cuda_devices)*>(
             cuda::kernel_function(kKernels, "quench_cuda_devices"))(why, sizeof why) > 0;
}

// A memfd, mapped as its writer and as its reader has it.
struct SharedPages {
  SharedPages() {
    const int file = memfd_create("pinned memory test", MFD_CLOEXEC);
    REQUIRE(ftruncate(file, kBytes) == 0);
    written = map(file, PROT_READ | PROT_WRITE);
    read = map(file, PROT_READ);
    close(file);
  }
  ~SharedPages() {
    munmap(written, kBytes);
    munmap(read, kBytes);
  }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  static unsigned char* map(int file, int rights) {
    void* at = mmap(nullptr, kBytes, rights, MAP_SHARED | MAP_NORESERVE, file, 0);
    REQUIRE(at != MAP_FAILED);
    return static_cast<unsigned char*>(at);
  }

  unsigned char* written;
  unsigned char* read;
};

}  // namespace

TEST_CASE("pinned memory: without a GPU nothing is pinned, with the reason", "[cuda]") {
  skip_unless(!has_gpu(), "there is a GPU");
  const SharedPages pages;
  for (const bool read_only : {false, true}) {
    CHECK_THROWS_WITH(cuda::pin(0, pages.written, kPinned, read_only, kKernels),
                      Catch::StartsWith("device cuda:0: no such device: "));
  }
}

TEST_CASE("pinned memory: on a GPU copies to and from shared memory have its bytes", "[cuda]") {
  skip_unless(has_gpu(), "there is no GPU");
  const SharedPages pages;
  const cuda::DeviceMemory device(0, kPinned, kKernels);
  cuda::pin(0, pages.written, kPinned, false, kKernels);
  CHECK_THROWS(cuda::pin(0, pages.written, kPinned, false, kKernels));
  // A refusal is no error of what comes next. What the other process has written since then is
  // there, too.
  for (size_t i = 0; i < kPinned; ++i) {
    pages.written[i] = static_cast<unsigned char>(i * 7 + i / 256);
  }
  cuda::copy_bytes(0, device.get(), pages.written, kPinned, kKernels);
  std::vector<unsigned char> back(kPinned);
  cuda::copy_bytes(0, back.data(), device.get(), kPinned, kKernels);
  CHECK(std::memcmp(back.data(), pages.read, kPinned) == 0);
  std::memset(pages.written, 0, kPinned);
  cuda::copy_bytes(0, pages.written, device.get(), kPinned, kKernels);
  CHECK(std::memcmp(back.data(), pages.read, kPinned) == 0);
  cuda::unpin(0, pages.written, kKernels);
  cuda::pin(0, pages.written, kBytes, false, kKernels);  // it grows
  cuda::unpin(0, pages.written, kKernels);
}

TEST_CASE("pinned memory: on a GPU memory that cannot be written is pinned or refused in words",
          "[cuda]") {
  skip_unless(has_gpu(), "there is no GPU");
  const SharedPages pages;
  std::memset(pages.written, 9, kBytes);
  bool pinned = true;
  try {
    cuda::pin(0, pages.read, kPinned, true, kKernels);
  } catch (const kit::Error& refused) {
    pinned = false;
    CHECK_THAT(refused.what(), Catch::StartsWith("device cuda:0: page-locking of host memory: "));
  }
  const cuda::DeviceMemory device(0, kPinned, kKernels);
  cuda::copy_bytes(0, device.get(), pages.read, kPinned, kKernels);
  std::vector<unsigned char> back(kPinned);
  cuda::copy_bytes(0, back.data(), device.get(), kPinned, kKernels);
  CHECK(std::memcmp(back.data(), pages.read, kPinned) == 0);
  if (pinned) {
    cuda::unpin(0, pages.read, kKernels);
  }
}

}  // namespace quench::test
