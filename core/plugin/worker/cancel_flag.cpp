#include "core/plugin/worker/cancel_flag.hpp"

#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

CancelFlag::CancelFlag(const std::string& label)
    : file_(memfd_create("quench flags", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  void* page = MAP_FAILED;
  if (file_ && ftruncate(file_.get(), kPageBytes) == 0) {
    page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  }
  if (page == MAP_FAILED) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: no shared memory for its process: {}", label,
         std::strerror(errno));
  }
  word_ = static_cast<int32_t*>(page);
}

CancelFlag::~CancelFlag() {
  munmap(word_, kPageBytes);
}

void CancelFlag::raise() noexcept {
  __atomic_store_n(word_, 1, __ATOMIC_RELAXED);
}

}  // namespace quench
