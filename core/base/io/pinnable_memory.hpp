// Host memory that lasts, for devices to copy to and from directly: what knows the device pins the
// part that copies use, which locks its pages and registers them there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quench {

// Whoever pins memory for a device. Calls come one at a time.
class Pinner {
 public:
  virtual ~Pinner() = default;
  // Whole pages. False where that is refused; then nothing has changed.
  virtual bool pin(std::byte* data, uint64_t bytes, bool read_only) = 0;
  // Of what it pinned at `data`, on any thread.
  virtual void unpin(std::byte* data) noexcept = 0;
};

// A mapping of which part may be pinned, from its beginning on. It is pinned by one at a time, for
// all devices: a copy whose host memory is pinned only in part is an error to them, so that a copy
// finds all of its memory in one pinned range or none of it in any. [thread-safe]
class PinnableMemory {
 public:
  // While it lives, `data` stays mapped, page-aligned, and no pages of what is pinned are given
  // back to the system: the device would go on with those that it knows. `read_only`: this process
  // cannot write there.
  PinnableMemory(std::byte* data, uint64_t bytes, bool read_only);
  ~PinnableMemory();  // unpins
  PinnableMemory(const PinnableMemory&) = delete;
  PinnableMemory& operator=(const PinnableMemory&) = delete;

  // Bytes from the beginning on that are pinned.
  uint64_t pinned() const;

  // To be called before a copy to or from [at, at + bytes): pins what is pinnable there, with room
  // to grow. What `by` has refused once, or what reaches beyond the pinnable part, is not tried
  // again by it: none of that memory is pinned then. Without such memory there, does nothing.
  static void pin_around(const void* at, uint64_t bytes, Pinner& by);
  // To be called before `by` ends.
  static void unpin_all(const Pinner& by);

 private:
  void unpin();
  void pin(uint64_t bytes, Pinner& by);

  std::byte* data_;
  uint64_t bytes_;
  bool read_only_;
  Pinner* by_ = nullptr;  // who has pinned
  uint64_t pinned_ = 0;
  const Pinner* refused_by_ = nullptr;
};

}  // namespace quench
