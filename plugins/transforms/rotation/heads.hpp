// Rotates what attention sums within each head (QuaRot's rotation between v and o): v writes values
// v R, and o's weight takes R' by its columns. Attention adds rows of v for each channel alone, so
// nothing else sees it.
#pragma once

#include <cstdint>
#include <string>

#include "quench/kit/transform.hpp"

namespace quench::transforms {

// R is a randomized Hadamard matrix of `head_size`, the same for all heads of a block, so that
// heads of queries may share heads of keys. A divisor of the heads' size will do, too. `stream`
// names the stream of random numbers. Throws INVALID_ARGUMENT for a size that does not divide what
// v writes or o reads, UNSUPPORTED for one without a Hadamard matrix and for a block without v and
// o, or with more than a sum between them.
void rotate_heads(kit::ModelEditor& model, int64_t head_size, const std::string& stream);

}  // namespace quench::transforms
