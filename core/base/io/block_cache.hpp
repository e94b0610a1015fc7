// Caches large blocks of memory with their pages after they are released, for later requests.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace quench {

// The kernel clears a page before a process first touches it, and on a virtual machine released
// memory may have to come from the hypervisor again. A program that frees and allocates the same
// activations for every micro-batch spends a fifth of its time on that. The cache hardly raises the
// peak: used and cached memory together never exceed the highest use so far plus a slack; without
// the slack a program near its peak would find the cache empty.
//
// Adjacent free ranges merge, and a request may take part of a range: six activations become one
// matrix, and the other way around. [thread-safe]
class BlockCache {
 public:
  // 2 MiB: the huge page of x86-64, and of arm64 with 4 KiB pages. Blocks are aligned to it.
  static constexpr size_t kHugePage = size_t{2} << 20;

  // Caches at most `limit` bytes, and at most `slack` bytes more than were ever in use at once.
  BlockCache(size_t limit, size_t slack) : limit_(limit), slack_(slack) {}
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  // Unmaps the cached ranges; blocks in use stay mapped.
  ~BlockCache();

  // Returns `bytes` of memory, not cleared; nullptr if there is none left.
  void* allocate(size_t bytes);
  // Takes `memory` back. Returns false and does nothing if it is not a block in use.
  bool release(void* memory);

  // Counts whole huge pages, touched or not.
  size_t bytes_in_use() const;
  size_t bytes_kept() const;

 private:
  char* take_kept(size_t size);
  void keep(char* start, size_t size);
  void unmap_all_but(size_t bytes);

  const size_t limit_;
  const size_t slack_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, size_t> used_;  // start -> size of each block
  std::map<char*, size_t> kept_;            // start -> size of each free range; no two ranges touch
  size_t in_use_ = 0;
  size_t most_in_use_ = 0;
  size_t kept_bytes_ = 0;
};

}  // namespace quench
