// The test host with several threads.
#pragma once

#include <cstdint>

namespace quench::test {

// While it lives, kit code of this process runs its tasks on that many threads, ranges dealt out as
// threads get free. One at a time.
class HostThreads {
 public:
  explicit HostThreads(uint32_t count);
  ~HostThreads();
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;
};

}  // namespace quench::test
