#include "core/base/io/block_cache.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

using quench::BlockCache;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

char* at(void* block, size_t bytes) {
  return static_cast<char*>(block) + bytes;
}

}  // namespace

TEST_CASE("A block starts at a huge page and is writable to its last byte", "[io]") {
  BlockCache cache(64 * kMiB, 0);
  for (const size_t bytes : {size_t{0}, size_t{1}, 2 * kMiB, 2 * kMiB + 1, 9 * kMiB + 13}) {
    INFO(bytes << " bytes");
    void* block = cache.allocate(bytes);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(block) % BlockCache::kHugePage == 0);
    std::memset(block, 7, bytes);
    CHECK(cache.release(block));
  }
  CHECK(cache.bytes_in_use() == 0);
}

TEST_CASE("A block given back is there for the next request of its size", "[io]") {
  BlockCache cache(64 * kMiB, 0);
  void* block = cache.allocate(4 * kMiB);
  std::memset(block, 7, 4 * kMiB);
  CHECK(cache.release(block));
  CHECK(cache.bytes_kept() == 4 * kMiB);
  CHECK(cache.allocate(4 * kMiB) == block);
  CHECK(*at(block, 4 * kMiB - 1) == 7);  // its pages never went
  CHECK(cache.bytes_kept() == 0);
  CHECK(cache.bytes_in_use() == 4 * kMiB);
  CHECK(cache.release(block));
}

TEST_CASE("A request takes a part of the smallest range that is large enough", "[io]") {
  BlockCache cache(64 * kMiB, 0);
  void* large = cache.allocate(32 * kMiB);
  void* apart = cache.allocate(2 * kMiB);  // so that the two ranges do not touch
  void* small = cache.allocate(12 * kMiB);
  CHECK(cache.release(large));
  CHECK(cache.release(small));
  CHECK(cache.allocate(8 * kMiB) == small);
  CHECK(cache.allocate(8 * kMiB) == large);
  CHECK(cache.allocate(24 * kMiB) == at(large, 8 * kMiB));
  CHECK(cache.bytes_kept() == 4 * kMiB);
  CHECK(cache.release(apart));
  CHECK(cache.release(small));
  CHECK(cache.release(large));
  CHECK(cache.release(at(large, 8 * kMiB)));
}

TEST_CASE("Neighbours that are given back are one range, in any order", "[io]") {
  BlockCache cache(64 * kMiB, 0);
  void* whole = cache.allocate(30 * kMiB);
  CHECK(cache.release(whole));
  const std::vector<std::vector<size_t>> orders = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}};
  for (const std::vector<size_t>& order : orders) {
    for (size_t i = 0; i < 3; ++i) {
      REQUIRE(cache.allocate(10 * kMiB) == at(whole, i * 10 * kMiB));
    }
    for (const size_t i : order) {
      CHECK(cache.release(at(whole, i * 10 * kMiB)));
    }
    REQUIRE(cache.allocate(30 * kMiB) == whole);
    CHECK(cache.release(whole));
  }
}

TEST_CASE("Kept memory never raises what was once in use", "[io]") {
  BlockCache cache(1024 * kMiB, 0);
  void* small = cache.allocate(10 * kMiB);
  CHECK(cache.release(small));
  CHECK(cache.bytes_kept() == 10 * kMiB);
  void* large = cache.allocate(40 * kMiB);  // more than ever: nothing may be kept beside it
  CHECK(cache.bytes_kept() == 0);
  CHECK(cache.release(large));
  small = cache.allocate(10 * kMiB);
  CHECK(cache.bytes_in_use() + cache.bytes_kept() == 40 * kMiB);
  CHECK(cache.release(small));
}

TEST_CASE("A slack keeps memory for a program at its peak", "[io]") {
  BlockCache cache(1024 * kMiB, 16 * kMiB);
  void* first = cache.allocate(10 * kMiB);
  CHECK(cache.release(first));
  void* second = cache.allocate(40 * kMiB);
  CHECK(cache.bytes_kept() == 10 * kMiB);
  CHECK(cache.allocate(10 * kMiB) == first);
  CHECK(cache.release(second));
  void* third = cache.allocate(56 * kMiB);  // 66 MiB in use for the first time
  CHECK(cache.bytes_kept() == 16 * kMiB);
  CHECK(cache.release(first));
  CHECK(cache.release(third));
}

TEST_CASE("No more than the limit is kept, small ranges go first", "[io]") {
  BlockCache cache(12 * kMiB, 0);
  std::vector<void*> blocks;
  for (const size_t size : {4, 2, 10, 2, 6}) {
    blocks.push_back(cache.allocate(size * kMiB));
  }
  CHECK(cache.release(blocks[0]));
  CHECK(cache.release(blocks[2]));
  CHECK(cache.bytes_kept() == 12 * kMiB);  // half of the four went
  CHECK(cache.allocate(10 * kMiB) == blocks[2]);
  CHECK(cache.allocate(2 * kMiB) == blocks[0]);
  CHECK(cache.bytes_kept() == 0);
}

TEST_CASE("A block of something else is not taken", "[io]") {
  BlockCache cache(8 * kMiB, 0);
  int elsewhere = 0;
  CHECK_FALSE(cache.release(&elsewhere));
  CHECK_FALSE(cache.release(nullptr));
  void* block = cache.allocate(4 * kMiB);
  CHECK_FALSE(cache.release(at(block, 2 * kMiB)));
  CHECK(cache.release(block));
  CHECK_FALSE(cache.release(block));  // given back already
}

TEST_CASE("A request that nothing can serve leaves the cache as it was", "[io]") {
  BlockCache cache(8 * kMiB, 0);
  CHECK(cache.allocate(SIZE_MAX) == nullptr);
  CHECK(cache.allocate(SIZE_MAX / 2) == nullptr);
  CHECK(cache.bytes_in_use() == 0);
  void* large = cache.allocate(4 * kMiB);
  CHECK(cache.release(large));
  void* larger = cache.allocate(6 * kMiB);
  CHECK(cache.bytes_kept() == 0);  // the peak is what was in use, not what was asked for
  CHECK(cache.release(larger));
}

TEST_CASE("Blocks in use by several threads are never the same", "[io]") {
  BlockCache cache(64 * kMiB, 0);
  std::vector<std::thread> threads;
  std::vector<int> faults(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, &fault = faults[static_cast<size_t>(t)], t] {
      for (size_t round = 0; round < 200; ++round) {
        const size_t last = 2 * kMiB * (1 + round % 3) - 1;
        auto* block = static_cast<char*>(cache.allocate(last + 1));
        block[0] = static_cast<char>(t);
        block[last] = static_cast<char>(t);
        std::this_thread::yield();
        fault += block[0] == t && block[last] == t ? 0 : 1;
        fault += cache.release(block) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(faults == std::vector<int>(4, 0));
  CHECK(cache.bytes_in_use() == 0);
  CHECK(cache.bytes_kept() <= 4 * 6 * kMiB);
}
