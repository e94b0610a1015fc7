// How much memory this process takes, as the system has it.
#pragma once

#include <cstdint>

namespace quench {

// Bytes now, and at most; the second since `forget_peak_memory`, where the system lets a process
// forget, else since its start. 0 where the system does not say.
uint64_t resident_memory_bytes();
uint64_t peak_memory_bytes();
void forget_peak_memory();

}  // namespace quench
