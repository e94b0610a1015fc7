// One opening per layout; packed_linear.hpp has what they have in common, and their errors.
#pragma once

#include <memory>

#include "core/checkpoint/packed/packed_linear.hpp"
#include "core/checkpoint/packed/packed_parts.hpp"

namespace quench {

// 1/127 as bitsandbytes multiplies by it.
inline constexpr float kInt8Unit = 7.874015718698502e-3F;

std::unique_ptr<PackedLinear> open_gptq_linear(PackedParts parts, const QuantizationConfig& config);
std::unique_ptr<PackedLinear> open_awq_linear(PackedParts parts, const QuantizationConfig& config);
std::unique_ptr<PackedLinear> open_compressed_linear(PackedParts parts,
                                                     const QuantizationConfig& config);
std::unique_ptr<PackedLinear> open_int8_linear(PackedParts parts);

}  // namespace quench
