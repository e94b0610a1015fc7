// Zero points of GPTQ files: v2 holds them, v1 holds them less one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/gptq_layout/gptq_config.hpp"

namespace quench::formats {

// Zeros of consecutive outputs, as many as `zeros` has, out of their words. `first_word` is the
// place of words[0] in its row, which starts a new output there. Where the grid is symmetric and
// these zeros are not its middle as the config names them, they are read in the way that gives it.
// `where` begins the message. Throws kit::Error(DATA_LOSS) where no known way does.
void decode_gptq_zeros(const std::vector<uint32_t>& words, const GptqConfig& config, int64_t bits,
                       uint64_t first_word, std::span<uint8_t> zeros, const std::string& where);

// As written: less one for v1, field by field. No zero is 0 there.
void encode_gptq_zeros(std::span<const uint8_t> zeros, bool less_one, int64_t bits,
                       uint32_t* words);

}  // namespace quench::formats
