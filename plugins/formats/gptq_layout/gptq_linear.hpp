// A linear's weight out of the tensors of GPTQ files.
#pragma once

#include <memory>

#include "formats/gptq_layout/gptq_config.hpp"
#include "formats/packed/packed_linear.hpp"
#include "formats/packed/packed_parts.hpp"

namespace quench::formats {

// See PackedLayout::open.
std::unique_ptr<PackedLinear> open_gptq_linear(PackedParts parts, const GptqConfig& config);

}  // namespace quench::formats
