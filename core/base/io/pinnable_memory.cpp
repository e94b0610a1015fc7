#include "core/base/io/pinnable_memory.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

namespace quench {

namespace {

// A page of the large kind.
constexpr uint64_t kLeastPinned = uint64_t{2} << 20;

// Pages that were never written are made when they are pinned, and a part that grows is pinned
// anew: up to a quarter more than is used, so that it grows a few times.
uint64_t with_room_to_grow(uint64_t bytes) {
  const uint64_t step = std::max(kLeastPinned, std::bit_ceil(bytes) / 4);
  return (bytes + step - 1) / step * step;
}

struct Mappings {
  std::mutex mutex;
  std::vector<PinnableMemory*> list;
};

// Never destroyed: threads end their mappings when they end.
Mappings& mappings() {
  static auto* all = new Mappings;
  return *all;
}

}  // namespace

PinnableMemory::PinnableMemory(std::byte* data, uint64_t bytes, bool read_only)
    : data_(data), bytes_(bytes), read_only_(read_only) {
  const std::lock_guard lock(mappings().mutex);
  mappings().list.push_back(this);
}

PinnableMemory::~PinnableMemory() {
  const std::lock_guard lock(mappings().mutex);
  unpin();
  std::erase(mappings().list, this);
}

uint64_t PinnableMemory::pinned() const {
  const std::lock_guard lock(mappings().mutex);
  return pinned_;
}

void PinnableMemory::unpin() {
  if (by_ != nullptr) {
    by_->unpin(data_);
  }
  by_ = nullptr;
  pinned_ = 0;
}

// Of the beginning, `bytes` are wanted.
void PinnableMemory::pin(uint64_t bytes, Pinner& by) {
  if (bytes <= pinned_ || refused_by_ == &by) {
    return;
  }
  unpin();
  const uint64_t wanted = std::min(bytes_, with_room_to_grow(bytes));
  if (bytes <= wanted && by.pin(data_, wanted, read_only_)) {
    by_ = &by;
    pinned_ = wanted;
  } else {
    refused_by_ = &by;
  }
}

void PinnableMemory::pin_around(const void* at, uint64_t bytes, Pinner& by) {
  const std::lock_guard lock(mappings().mutex);
  const auto* first = static_cast<const std::byte*>(at);
  for (PinnableMemory* each : mappings().list) {
    if (first >= each->data_ && first < each->data_ + each->bytes_) {
      each->pin(static_cast<uint64_t>(first - each->data_) + bytes, by);
    }
  }
}

void PinnableMemory::unpin_all(const Pinner& by) {
  const std::lock_guard lock(mappings().mutex);
  for (PinnableMemory* each : mappings().list) {
    if (each->by_ == &by) {
      each->unpin();
    }
    if (each->refused_by_ == &by) {
      each->refused_by_ = nullptr;
    }
  }
}

}  // namespace quench
