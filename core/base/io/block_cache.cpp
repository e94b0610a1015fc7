#include "core/base/io/block_cache.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace quench {

namespace {

// Gets `size` bytes (whole huge pages) from the kernel, aligned to a huge page; nullptr if there is
// no memory.
char* map_range(size_t size) {
  const size_t span = size + BlockCache::kHugePage;
  void* mapped = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return nullptr;
  }
  auto* start = static_cast<char*>(mapped);
  const size_t past = reinterpret_cast<uintptr_t>(start) % BlockCache::kHugePage;
  const size_t before = past == 0 ? 0 : BlockCache::kHugePage - past;
  if (before > 0) {
    munmap(start, before);
  }
  munmap(start + before + size, BlockCache::kHugePage - before);
  return start + before;
}

}  // namespace

BlockCache::~BlockCache() {
  unmap_all_but(0);
}

void* BlockCache::allocate(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * kHugePage) {
    return nullptr;
  }
  const size_t size = std::max(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
  const std::lock_guard lock(mutex_);
  char* start = take_kept(size);
  const size_t most = std::max(most_in_use_, in_use_ + size);
  unmap_all_but(std::min(limit_, most - in_use_ - size + slack_));
  if (start == nullptr) {
    start = map_range(size);
  }
  if (start == nullptr) {
    unmap_all_but(0);
    start = map_range(size);
  }
  if (start == nullptr) {
    return nullptr;
  }
  in_use_ += size;
  most_in_use_ = most;
  // Whole huge pages only, so that a partial one costs no more than it holds. Failure is harmless.
  madvise(start, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  used_.emplace(start, size);
  return start;
}

bool BlockCache::release(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto used = used_.find(memory);
  if (used == used_.end()) {
    return false;
  }
  in_use_ -= used->second;
  keep(static_cast<char*>(memory), used->second);
  used_.erase(used);
  unmap_all_but(std::min(limit_, most_in_use_ - in_use_ + slack_));
  return true;
}

size_t BlockCache::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

size_t BlockCache::bytes_kept() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

// Takes the smallest kept range that is large enough; nullptr if there is none.
char* BlockCache::take_kept(size_t size) {
  auto best = kept_.end();
  for (auto range = kept_.begin(); range != kept_.end(); ++range) {
    if (range->second >= size && (best == kept_.end() || range->second < best->second)) {
      best = range;
    }
  }
  if (best == kept_.end()) {
    return nullptr;
  }
  const auto [start, whole] = *best;
  kept_.erase(best);
  if (whole > size) {
    kept_.emplace(start + size, whole - size);
  }
  kept_bytes_ -= size;
  return start;
}

void BlockCache::keep(char* start, size_t size) {
  kept_bytes_ += size;
  const auto next = kept_.lower_bound(start);
  if (next != kept_.end() && start + size == next->first) {
    size += next->second;
    kept_.erase(next);
  }
  const auto after = kept_.lower_bound(start);
  if (after != kept_.begin()) {
    const auto previous = std::prev(after);
    if (previous->first + previous->second == start) {
      previous->second += size;
      return;
    }
  }
  kept_.emplace(start, size);
}

// Unmaps the smallest ranges first, because a large one can serve any request.
void BlockCache::unmap_all_but(size_t bytes) {
  while (kept_bytes_ > bytes) {
    const auto smallest = std::min_element(kept_.begin(), kept_.end(),
                                           [](auto& a, auto& b) { return a.second < b.second; });
    const size_t excess = (kept_bytes_ - bytes + kHugePage - 1) / kHugePage * kHugePage;
    const size_t given = std::min(excess, smallest->second);
    smallest->second -= given;
    munmap(smallest->first + smallest->second, given);
    kept_bytes_ -= given;
    if (smallest->second == 0) {
      kept_.erase(smallest);
    }
  }
}

}  // namespace quench
