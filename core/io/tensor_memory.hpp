// Host memory for tensors.
#pragma once

#include <cstddef>

namespace quench {

// `bytes` of memory, not cleared, 64-byte aligned; nullptr when there is none left. Large blocks
// ask for huge pages: the kernel clears a page at its first touch, and for 4 KiB pages the fault
// costs more than the clearing. To be given back by std::free. [thread-safe]
void* allocate_tensor_memory(size_t bytes);

}  // namespace quench
