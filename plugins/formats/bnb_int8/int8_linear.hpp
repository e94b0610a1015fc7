// A linear's weight out of the tensors of bitsandbytes' int8.
#pragma once

#include <memory>

#include "formats/packed/packed_linear.hpp"
#include "formats/packed/packed_parts.hpp"

namespace quench::formats {

// 1/127 as bitsandbytes multiplies by it.
inline constexpr float kInt8Unit = 7.874015718698502e-3F;

// See PackedLayout::open.
std::unique_ptr<PackedLinear> open_int8_linear(PackedParts parts);

}  // namespace quench::formats
