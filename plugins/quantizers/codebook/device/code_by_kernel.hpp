// Factors and codes with the kernel, where the weight is: on a GPU as kernels.so has it, in host
// memory as loops.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "quantizers/codebook/blocks.hpp"

namespace quench::quantizers {

// block_maxima() and find_codes() of a weight, in its memory.
struct BlocksThere {
  at::Tensor maxima;  // float32 [blocks]
  at::Tensor codes;   // uint8, in the shape of the weight
};
// `weight` is float32 or float64, C order.
BlocksThere code_by_kernel(const at::Tensor& weight, int64_t block, const Levels& levels);

// look_up() to `to`, float32 or float64, C order, in the memory of the codes.
void look_up_there(const at::Tensor& codes, std::span<const float> factors, int64_t block,
                   const Levels& levels, const at::Tensor& to);

}  // namespace quench::quantizers
