// The block factors, themselves in 8 bits (QLoRA, section 3, "double quantization"): their mean is
// subtracted, and the rest is coded in blocks of 256 with a table of 256 values that are dense
// around 0 (Dettmers et al. 2022, arXiv 2110.02861, the dynamic tree type).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace quench::quantizers {

inline constexpr int64_t kFactorBlock = 256;

// The 256 values, ascending, in [-1, 1].
const std::array<float, 256>& dynamic_levels();

struct CodedFactors {
  float mean = 0;
  std::vector<uint8_t> codes;  // [factors]
  std::vector<float> maxima;   // [blocks of factors]
  std::vector<float> decoded;  // [factors]: level * maximum + mean
};

CodedFactors code_factors(std::span<const float> factors);

}  // namespace quench::quantizers
