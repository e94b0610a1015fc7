#include "core/plugin/services/task_arena.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/plugin/services/host_services.hpp"

namespace quench {

// More threads than processors would get no workers and a warning on stderr.
std::shared_ptr<tbb::task_arena> arena_of(uint32_t budget) {
  const int threads = std::min(static_cast<int>(std::min<uint32_t>(budget, INT16_MAX)),
                               tbb::info::default_concurrency());
  static std::mutex mutex;
  static auto* arena = new std::shared_ptr<tbb::task_arena>;  // outlives static destructors
  const std::lock_guard lock(mutex);
  if (*arena == nullptr || (*arena)->max_concurrency() != threads) {
    *arena = std::make_shared<tbb::task_arena>(threads);
  }
  return *arena;
}

void copy_on_all_threads(void* to, const void* from, uint64_t bytes) noexcept {
  constexpr uint64_t kPart = uint64_t{1} << 20;
  const uint32_t threads = HostServices::instance().threads();
  if (threads > 1 && bytes >= 4 * kPart) {
    try {
      // Isolated: a thread that waits here must not begin another task, whose calls would come in
      // the middle of the message that is being read.
      arena_of(threads)->execute([&] {
        tbb::this_task_arena::isolate([&] {
          tbb::parallel_for(uint64_t{0}, (bytes + kPart - 1) / kPart, [&](uint64_t part) {
            const uint64_t begin = part * kPart;
            std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                        std::min(kPart, bytes - begin));
          });
        });
      });
      return;
    } catch (...) {  // no threads to be had: copied again, here
    }
  }
  std::memcpy(to, from, bytes);
}

}  // namespace quench
