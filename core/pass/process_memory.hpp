// The memory of this process, as the system reports it.
#pragma once

#include <cstdint>

namespace quench {

// Current bytes, and the peak since `forget_peak_memory` if the system supports that, else since
// the start. 0 if the system does not report it.
uint64_t resident_memory_bytes();
uint64_t peak_memory_bytes();
void forget_peak_memory();

}  // namespace quench
