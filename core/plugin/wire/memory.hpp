// Shared memory of a channel. Each side writes one and reads the other's: large values lie there,
// and messages only say where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/io/descriptor.hpp"
#include "core/base/io/pinnable_memory.hpp"

namespace quench::wire {

// Bytes of address space of each memory; pages exist once they are written.
inline constexpr uint64_t kMemoryBytes = uint64_t{64} << 30;
// What stays with a thread between calls: pages below are never given back to the system.
inline constexpr uint64_t kKeptBytes = uint64_t{256} << 20;
// Where values begin.
inline constexpr uint64_t kAlignment = 64;

// All of such a memory, mapped here.
class Mapping {
 public:
  // Throws Error: INVALID_ARGUMENT for a descriptor of another size, RESOURCE_EXHAUSTED.
  Mapping(int descriptor, int protection);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
};

// Memory that this process writes, from its beginning on, as a stack.
class OwnMemory {
 public:
  // A new one, sealed against resizing; with `only_here`, no other process can map it for writing.
  // Throws Error(RESOURCE_EXHAUSTED).
  explicit OwnMemory(bool only_here);
  // One that another process made and that this one is to write. Throws Error.
  explicit OwnMemory(Descriptor descriptor);

  int descriptor() const { return descriptor_.get(); }
  // `bytes` of it, uninitialized. Throws Error(RESOURCE_EXHAUSTED) for more than is left, and where
  // more than kKeptBytes of new pages are more than the machine has free: the other process may say
  // how large a result will be.
  std::byte* take(uint64_t bytes);
  // At most so many are taken at one time.
  void limit(uint64_t bytes) { most_ = std::min(bytes, kMemoryBytes); }
  bool holds(const void* at) const;
  uint64_t offset_of(const void* at) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(at) - mapping_.data());
  }

  uint64_t top() const { return top_; }
  // Gives back all that was taken since `top` was this. Pages beyond what is kept or pinned go back
  // to the system.
  void reset(uint64_t top);

 private:
  Descriptor descriptor_;
  Mapping mapping_;
  PinnableMemory pinnable_{mapping_.data(), kMemoryBytes, false};
  uint64_t most_ = kMemoryBytes;
  uint64_t top_ = 0;
  uint64_t highest_ = 0;  // pages below have been used
};

// Memory that the other process writes. What is read here may change while it is being read: copy
// first, then check.
class TheirMemory {
 public:
  explicit TheirMemory(Descriptor descriptor);

  // nullptr where the range is not inside.
  const std::byte* at(uint64_t offset, uint64_t bytes) const;
  // Bytes of it that exist, at least those that were ever written and not given back.
  uint64_t written() const;

 private:
  Descriptor descriptor_;
  Mapping mapping_;
  // What the other process gives back lies beyond.
  PinnableMemory pinnable_{mapping_.data(), kKeptBytes, true};
};

}  // namespace quench::wire
