// Large blocks of memory whose pages are kept when they are given back, for requests to come.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace quench {

// The kernel clears a page before a process first touches it, and on a virtual machine memory that
// went back to the system may have to come from its host again: a program that frees and allocates
// the same activations for every micro-batch spends a fifth of its time on that. Kept memory hardly
// raises the peak: what is in use and what is kept are together never more than was once in use,
// and a slack, without which a program near its peak would find nothing kept.
//
// Neighbours that are kept are one range, and a request may take a part of one: six activations
// become a matrix, and the other way around. [thread-safe]
class BlockCache {
 public:
  // 2 MiB: the huge page of x86-64, and of arm64 with pages of 4 KiB. Blocks start at one.
  static constexpr size_t kHugePage = size_t{2} << 20;

  // At most `limit` bytes are kept, of which `slack` may be above what was ever in use.
  BlockCache(size_t limit, size_t slack) : limit_(limit), slack_(slack) {}
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  // Unmaps what is kept; blocks in use stay where they are.
  ~BlockCache();

  // `bytes` of memory, not cleared; nullptr when there is none left.
  void* allocate(size_t bytes);
  // Takes `memory` back; false, and nothing done, when it is not a block in use.
  bool release(void* memory);

  // In whole huge pages, touched or not.
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
  std::map<char*, size_t> kept_;            // likewise of ranges, of which no two touch
  size_t in_use_ = 0;
  size_t most_in_use_ = 0;
  size_t kept_bytes_ = 0;
};

}  // namespace quench
