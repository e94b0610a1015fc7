// The threads that compute for a run.
#pragma once

#include <tbb/task_arena.h>

#include <cstdint>
#include <memory>

namespace quench {

// The arena of the run, recreated when the budget changes. A call holds it by the shared pointer.
// Throws what oneTBB throws.
std::shared_ptr<tbb::task_arena> arena_of(uint32_t budget);

// memcpy by the threads of the run: one of them reaches about half of the memory's rate.
void copy_on_all_threads(void* to, const void* from, uint64_t bytes) noexcept;

}  // namespace quench
