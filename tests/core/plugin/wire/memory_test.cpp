// What is pinned of the memory that two processes share, and which pages stay.
#include "core/plugin/wire/memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>

using quench::Descriptor;
using quench::PinnableMemory;
using quench::wire::kKeptBytes;
using quench::wire::OwnMemory;
using quench::wire::TheirMemory;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

bool is_mapped(const std::byte* at) {
  unsigned char resident = 0;
  return mincore(const_cast<std::byte*>(at), 1, &resident) == 0;
}

struct Notes final : quench::Pinner {
  bool pin(std::byte* data, uint64_t bytes, bool read_only) override {
    pinned = bytes;
    is_read_only = read_only;
    return data != nullptr;
  }
  void unpin(std::byte* data) noexcept override {
    pinned = 0;
    was_mapped = is_mapped(data);
  }
  uint64_t pinned = 0;
  bool is_read_only = false;
  std::optional<bool> was_mapped;  // when it was unpinned
};

// One byte of each page of [from, from + bytes), which so exists.
void touch(std::byte* from, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += 4096) {
    from[at] = std::byte{1};
  }
}

uint64_t bytes_that_exist(const OwnMemory& memory) {
  struct stat found {};
  REQUIRE(fstat(memory.descriptor(), &found) == 0);
  return static_cast<uint64_t>(found.st_blocks) * 512;
}

}  // namespace

TEST_CASE("shared memory: pages that are pinned stay, others go back", "[wire]") {
  OwnMemory memory(false);
  Notes notes;
  std::byte* begin = memory.take(400 * kMiB);
  PinnableMemory::pin_around(begin, 300 * kMiB, notes);
  REQUIRE(notes.pinned == 384 * kMiB);
  CHECK_FALSE(notes.is_read_only);
  touch(begin, 400 * kMiB);
  memory.reset(0);
  CHECK(notes.pinned == 384 * kMiB);
  CHECK(bytes_that_exist(memory) == 384 * kMiB);
  // Once nothing is pinned, they go back at the next call.
  PinnableMemory::unpin_all(notes);
  memory.take(64);
  memory.reset(0);
  CHECK(bytes_that_exist(memory) == kKeptBytes);
  // From then on as if nothing had been pinned.
  touch(memory.take(300 * kMiB), 300 * kMiB);
  memory.reset(0);
  CHECK(bytes_that_exist(memory) == kKeptBytes);
}

TEST_CASE("shared memory: no more is taken than there is", "[wire]") {
  OwnMemory memory(false);
  CHECK_THROWS_WITH(memory.take(quench::wire::kMemoryBytes),
                    Catch::Contains("do not fit into the memory shared with a process"));
  const auto all = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * 4096;
  if (all < quench::wire::kMemoryBytes - kMiB) {
    CHECK_THROWS_WITH(memory.take(all),
                      Catch::Contains(" bytes for a value of another process, and ") &&
                          Catch::EndsWith(" are free"));
  }
  memory.limit(kMiB);
  CHECK(memory.take(kMiB / 2) != nullptr);
  CHECK_THROWS_WITH(memory.take(kMiB / 2), Catch::Contains("do not fit"));
  memory.reset(0);
  CHECK(memory.take(kMiB - 64) != nullptr);
}

TEST_CASE("shared memory: it is unpinned while it is still mapped", "[wire]") {
  Notes notes;
  {
    OwnMemory own(true);
    PinnableMemory::pin_around(own.take(64), 64, notes);
    CHECK(notes.pinned == 2 * kMiB);
  }
  CHECK(notes.pinned == 0);
  CHECK(notes.was_mapped == true);
  notes.was_mapped.reset();
  OwnMemory own(false);
  {
    TheirMemory theirs(Descriptor(::dup(own.descriptor())));
    PinnableMemory::pin_around(theirs.at(64, 64), 64, notes);
    CHECK(notes.pinned == 2 * kMiB);
    CHECK(notes.is_read_only);
  }
  CHECK(notes.pinned == 0);
  CHECK(notes.was_mapped == true);
}

TEST_CASE("shared memory: of another process's, what that never gives back is pinned", "[wire]") {
  OwnMemory own(false);
  TheirMemory theirs(Descriptor(::dup(own.descriptor())));
  Notes notes;
  PinnableMemory::pin_around(theirs.at(0, kKeptBytes), kKeptBytes, notes);
  CHECK(notes.pinned == kKeptBytes);
  touch(own.take(kKeptBytes + 10 * kMiB), kKeptBytes + 10 * kMiB);
  own.reset(0);
  CHECK(theirs.written() == kKeptBytes);
  PinnableMemory::pin_around(theirs.at(kKeptBytes, kMiB), kMiB, notes);
  CHECK(notes.pinned == kKeptBytes);
  PinnableMemory::pin_around(theirs.at(64, kKeptBytes), kKeptBytes, notes);
  CHECK(notes.pinned == 0);
}
