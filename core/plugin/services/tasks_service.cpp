// Implements quench.tasks/1 on oneTBB.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/plugin/calls/alternate_stack.hpp"
#include "core/plugin/calls/floating_state.hpp"
#include "core/plugin/calls/plugin_call.hpp"
#include "core/plugin/services/service_tables.hpp"
#include "core/plugin/services/task_arena.hpp"

namespace quench {

namespace {

using Body = quench_status (*)(void* user, uint64_t begin, uint64_t end) noexcept;

// One call of parallel_for.
struct Work {
  uint64_t count;
  uint64_t grain;
  Body body;
  void* user;
  const CallFrame*
      caller;  // the plugin's call that asks for it, if it does so on the host's thread

  std::atomic<bool> failed{false};
  std::mutex mutex{};
  uint64_t failed_range = UINT64_MAX;
  quench_status status = QUENCH_OK;

  uint64_t ranges() const { return count / grain + (count % grain == 0 ? 0 : 1); }

  void run(uint64_t range) {
    if (failed.load(std::memory_order_relaxed)) {
      return;
    }
    const uint64_t begin = range * grain;
    const uint64_t end = count - begin < grain ? count : begin + grain;
    const quench_status got = call(begin, end);
    if (got != QUENCH_OK) {
      const std::lock_guard lock(mutex);
      failed = true;
      if (range < failed_range) {
        failed_range = range;
        status = got;
      }
    }
  }

  quench_status call(uint64_t begin, uint64_t end) const {
    const PluginCall of_task = caller != nullptr
                                   ? PluginCall(caller->plugin, caller->function, caller->place)
                                   : PluginCall("a plugin", "a task of a thread that it started");
    const quench_status got = body(user, begin, end);
    look_at_floating_state();
    return got;
  }
};

// Returns false if the scheduler failed; a body throws nothing.
bool run_parallel(Work& work, uint32_t threads) noexcept {
  try {
    arena_of(threads)->execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<uint64_t>(0, work.ranges(), 1),
          [&](const tbb::blocked_range<uint64_t>& ranges) {
            static thread_local const AlternateStack stack;
            for (uint64_t range = ranges.begin(); range < ranges.end(); ++range) {
              work.run(range);
            }
          },
          tbb::auto_partitioner());
    });
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

quench_status parallel_for(uint32_t threads, uint64_t count, uint64_t grain, Body body,
                           void* user) noexcept {
  if (body == nullptr || grain == 0) {
    return QUENCH_INVALID_ARGUMENT;
  }
  Work work{count, grain, body, user, innermost_call};
  if (threads <= 1 || work.ranges() <= 1) {
    for (uint64_t range = 0; range < work.ranges() && !work.failed; ++range) {
      work.run(range);
    }
  } else if (!run_parallel(work, threads)) {
    return QUENCH_RESOURCE_EXHAUSTED;
  }
  return work.status;
}

}  // namespace quench
