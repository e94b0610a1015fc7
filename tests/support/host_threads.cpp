#include "tests/support/host_threads.hpp"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "quench/kit/host.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

uint32_t thread_count = 1;

uint32_t threads(const quench_host*) noexcept {
  return thread_count;
}

quench_status parallel_for(const quench_host*, uint64_t count, uint64_t grain,
                           quench_status (*body)(void*, uint64_t, uint64_t) noexcept,
                           void* user) noexcept {
  std::atomic<uint64_t> next{0};
  std::atomic<quench_status> status{QUENCH_OK};
  const auto work = [&] {
    for (uint64_t begin = next.fetch_add(grain); begin < count && status == QUENCH_OK;
         begin = next.fetch_add(grain)) {
      const quench_status own = body(user, begin, count - begin < grain ? count : begin + grain);
      if (own != QUENCH_OK) {
        status = own;
      }
    }
  };
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < thread_count; ++i) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& other : others) {
    other.join();
  }
  return status;
}

constexpr quench_tasks kTasks = {sizeof(quench_tasks), threads, parallel_for};

const void* find_service(const quench_host*, const char* id) noexcept {
  return std::strcmp(id, QUENCH_SERVICE_TASKS) == 0 ? &kTasks
                                                    : test_host()->service(test_host(), id);
}

constexpr quench_host kHost = {sizeof(quench_host), QUENCH_ABI_MINOR, nullptr, "test",
                               find_service};

}  // namespace

HostThreads::HostThreads(uint32_t count) {
  thread_count = count;
  kit::current_host = &kHost;
}
HostThreads::~HostThreads() {
  kit::current_host = test_host();
}

}  // namespace quench::test
