// Factors and codes with the kernel, where the weight is: on a GPU as kernels.so has it, in host
// memory as loops.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "quantizers/codebook/blocks.hpp"

namespace quench::quantizers {

// block_maxima() and find_codes() of `weight`, float32 or float64, C order. `maxima` has an element
// per block, `codes` one per weight.
void code_by_kernel(const at::Tensor& weight, int64_t block, const Levels& levels,
                    std::span<float> maxima, std::span<uint8_t> codes);

}  // namespace quench::quantizers
