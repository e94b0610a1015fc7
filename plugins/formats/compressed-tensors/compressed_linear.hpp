// A linear's weight out of the tensors of compressed-tensors.
#pragma once

#include <memory>

#include "formats/packed/packed_linear.hpp"
#include "formats/packed/packed_parts.hpp"
#include "formats/packed/scheme.hpp"

namespace quench::formats {

// See PackedLayout::open.
std::unique_ptr<PackedLinear> open_compressed_linear(PackedParts parts, const Scheme& config);

}  // namespace quench::formats
