// The GPU of tests that compare what it computes with the processor. For tests that link libtorch.
#pragma once

#include <c10/core/Device.h>

namespace quench::test {

// Loads libtorch's part for GPUs, so call it before anything else of libtorch in the process. Skips
// the calling test where what it needs is not installed.
void load_gpu_part_or_skip();

// The same, and skips where there is no GPU that libtorch can use.
c10::Device gpu_or_skip();

}  // namespace quench::test
