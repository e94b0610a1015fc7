// The parts of the host's services that stand on their own.
#pragma once

#include <cstdint>

#include "quench/abi/extension/input.h"

namespace quench {

// quench.tasks/1 with a budget of `threads`. Of several failing ranges the first one in order whose
// body ran decides the status.
quench_status parallel_for(uint32_t threads, uint64_t count, uint64_t grain,
                           quench_status (*body)(void* user, uint64_t begin, uint64_t end) noexcept,
                           void* user) noexcept;

// quench.input/1, in front of OpenedInputs.
const quench_input_service* input_service();

}  // namespace quench
