#include "core/base/io/pinnable_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

using quench::PinnableMemory;
using quench::Pinner;

namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// Addresses at which nothing is read or written.
std::byte* const kBegin = static_cast<std::byte*>(mmap(
    nullptr, 65536 * kMebibyte, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

struct Range {
  std::byte* data;
  uint64_t bytes;
  bool read_only;
  bool operator==(const Range&) const = default;
};

// Notes what is pinned. A range that is pinned twice, or unpinned without being pinned, fails.
struct Notes final : Pinner {
  bool pin(std::byte* data, uint64_t bytes, bool read_only) override {
    ++asked;
    for (const Range& each : ranges) {
      CHECK((data >= each.data + each.bytes || each.data >= data + bytes));
    }
    if (bytes > most) {
      return false;
    }
    ranges.push_back({data, bytes, read_only});
    return true;
  }
  void unpin(std::byte* data) noexcept override {
    CHECK(std::erase_if(ranges, [&](const Range& each) { return each.data == data; }) == 1);
  }
  bool has(const std::byte* at, uint64_t bytes) const {
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range& each) {
      return at >= each.data && at + bytes <= each.data + each.bytes;
    });
  }

  std::vector<Range> ranges;
  uint64_t most = UINT64_MAX;
  int asked = 0;
};

}  // namespace

TEST_CASE("pinnable memory: a copy lies in one pinned range, which grows", "[io]") {
  PinnableMemory memory(kBegin, 64 * 1024 * kMebibyte, true);
  Notes notes;
  for (const auto& [from, bytes] :
       std::vector<std::pair<uint64_t, uint64_t>>{{0, 64},
                                                  {4096, 1},
                                                  {0, 3 * kMebibyte},
                                                  {5 * kMebibyte, kMebibyte},
                                                  {100, 200},
                                                  {kMebibyte, 900 * kMebibyte}}) {
    PinnableMemory::pin_around(kBegin + from, bytes, notes);
    CAPTURE(from, bytes);
    CHECK(notes.has(kBegin + from, bytes));
    REQUIRE(notes.ranges.size() == 1);
    CHECK(notes.ranges[0] == Range{kBegin, memory.pinned(), true});
    CHECK(memory.pinned() % (2 * kMebibyte) == 0);
    // Not much more than is used.
    CHECK(memory.pinned() < std::max(5 * (from + bytes) / 4 + 2 * kMebibyte, 8 * kMebibyte));
  }
  // One by one they would be pinned anew each time.
  const int before = notes.asked;
  for (uint64_t end = 901 * kMebibyte; end < 4000 * kMebibyte; end += kMebibyte) {
    PinnableMemory::pin_around(kBegin + end, kMebibyte, notes);
  }
  CHECK(notes.asked - before < 12);
  PinnableMemory::unpin_all(notes);
  CHECK(notes.ranges.empty());
}

TEST_CASE("pinnable memory: what reaches beyond it leaves none of it pinned", "[io]") {
  PinnableMemory memory(kBegin, 256 * kMebibyte, false);
  Notes notes;
  PinnableMemory::pin_around(kBegin, 200 * kMebibyte, notes);
  CHECK(memory.pinned() == 256 * kMebibyte);                               // no more than there is
  PinnableMemory::pin_around(kBegin + 256 * kMebibyte, kMebibyte, notes);  // nothing of it
  CHECK(memory.pinned() == 256 * kMebibyte);
  PinnableMemory::pin_around(kBegin + 200 * kMebibyte, 56 * kMebibyte + 1, notes);
  CHECK(notes.ranges.empty());
  PinnableMemory::pin_around(kBegin, kMebibyte,
                             notes);  // else each such copy would cost two pinnings
  CHECK(notes.ranges.empty());
  CHECK(notes.asked == 1);
  // What is left to the next one.
  PinnableMemory::unpin_all(notes);
  Notes next;
  PinnableMemory::pin_around(kBegin, kMebibyte, next);
  CHECK(memory.pinned() == 2 * kMebibyte);
  PinnableMemory::unpin_all(next);
}

TEST_CASE("pinnable memory: what is refused is not asked for again, and nothing stays pinned",
          "[io]") {
  PinnableMemory memory(kBegin, 256 * kMebibyte, false);
  Notes notes;
  notes.most = 4 * kMebibyte;
  PinnableMemory::pin_around(kBegin, 4 * kMebibyte, notes);
  CHECK(memory.pinned() == 4 * kMebibyte);
  PinnableMemory::pin_around(kBegin, 5 * kMebibyte, notes);
  PinnableMemory::pin_around(kBegin, 5 * kMebibyte, notes);
  PinnableMemory::pin_around(kBegin, kMebibyte, notes);
  CHECK(notes.asked == 2);
  CHECK(notes.ranges.empty());
  CHECK(memory.pinned() == 0);
}

TEST_CASE("pinnable memory: it is pinned by one at a time, and by the next when that one ends",
          "[io]") {
  PinnableMemory memory(kBegin, 256 * kMebibyte, false);
  Notes first;
  Notes second;
  PinnableMemory::pin_around(kBegin, kMebibyte, first);
  PinnableMemory::pin_around(kBegin, kMebibyte, second);  // for all devices
  CHECK(second.asked == 0);
  PinnableMemory::pin_around(kBegin, 30 * kMebibyte, second);
  CHECK(first.ranges.empty());
  CHECK(second.has(kBegin, 30 * kMebibyte));
  PinnableMemory::unpin_all(first);
  CHECK(second.ranges.size() == 1);
  PinnableMemory::unpin_all(second);
  CHECK(memory.pinned() == 0);
  PinnableMemory::pin_around(kBegin, kMebibyte, first);
  CHECK(first.has(kBegin, kMebibyte));
  PinnableMemory::unpin_all(first);
}

TEST_CASE("pinnable memory: mappings are pinned each for itself, and unpinned when they end",
          "[io]") {
  Notes notes;
  auto left = std::make_unique<PinnableMemory>(kBegin, 256 * kMebibyte, false);
  auto right = std::make_unique<PinnableMemory>(kBegin + 256 * kMebibyte, 256 * kMebibyte, true);
  PinnableMemory::pin_around(kBegin + 10, kMebibyte, notes);
  PinnableMemory::pin_around(kBegin + 256 * kMebibyte, kMebibyte, notes);
  PinnableMemory::pin_around(kBegin - 1, 100, notes);  // in none
  PinnableMemory::pin_around(kBegin + 512 * kMebibyte, 100, notes);
  PinnableMemory::pin_around(nullptr, 0, notes);
  CHECK(notes.ranges == std::vector<Range>{{kBegin, 2 * kMebibyte, false},
                                           {kBegin + 256 * kMebibyte, 2 * kMebibyte, true}});
  left.reset();
  CHECK(notes.ranges == std::vector<Range>{{kBegin + 256 * kMebibyte, 2 * kMebibyte, true}});
  right.reset();
  CHECK(notes.ranges.empty());
  PinnableMemory::pin_around(kBegin + 10, kMebibyte, notes);
  CHECK(notes.ranges.empty());
}
