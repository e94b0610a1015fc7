// A linear's weight out of the tensors in which compressed-tensors keeps floats of 4 to 8 bits.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "formats/compressed-tensors/float_layout.hpp"
#include "formats/packed/packed_linear.hpp"
#include "formats/packed/packed_parts.hpp"

namespace quench::formats {

// See PackedLayout.
std::vector<std::string_view> float_endings(const FloatLayout& layout);
std::unique_ptr<PackedLinear> open_float_linear(PackedParts parts, const FloatScheme& scheme);

}  // namespace quench::formats
