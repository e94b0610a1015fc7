// The copies of what crosses: elements of tensors, often hundreds of megabytes in one call.
#pragma once

#include <cstdint>

namespace quench::wire {

// Like memcpy, for ranges of any size. Ranges that overlap are undefined. Never throws.
using Copy = void (*)(void* to, const void* from, uint64_t bytes) noexcept;

// What copies from now on, instead of memcpy on the calling thread. Set before the first call.
void set_copy(Copy copy);
// Accepts null pointers for 0 bytes.
void copy(void* to, const void* from, uint64_t bytes);

}  // namespace quench::wire
