// A linear's weight out of the tensors of AWQ files.
#pragma once

#include <memory>

#include "formats/packed/packed_linear.hpp"
#include "formats/packed/packed_parts.hpp"

namespace quench::formats {

// See PackedLayout::open. `group_size` -1: whole rows.
std::unique_ptr<PackedLinear> open_awq_linear(PackedParts parts, int64_t group_size);

}  // namespace quench::formats
