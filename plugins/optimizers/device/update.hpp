// Updates of a tensor that lies on a GPU.
#pragma once

#include "optimizers/device/entries.hpp"
#include "quench/abi/tensor.h"
#include "shared/cuda/library.hpp"

namespace quench::optimizers {

// Applies the rule to all elements; what the device runs next finds them there. Throws INTERNAL
// with the reason.
template <typename Rule>
void update_on_device(const Rule& rule, size_t elements, quench_device device) {
  cuda::run_on_gpu(kUpdate<Rule>, cuda::ForEach<Rule>{rule, static_cast<int64_t>(elements)},
                   device.index);
}

}  // namespace quench::optimizers
