// Codes of a few bits in 32-bit words, as the file formats lay them out.
#pragma once

#include <cstdint>
#include <vector>

namespace quench::formats {

// How codes follow each other.
enum class CodeOrder {
  kStream,  // a continuous stream, lowest bits first: codes may cross into the next word (GPTQ)
  kPadded,  // 32 / bits codes a word, lowest bits first, the rest unused (compressed-tensors)
  kAwq      // 8 codes of 4 bits a word: code 0 lowest, then 2, 4, 6, 1, 3, 5, 7
};

// Words that `count` codes take; a stream ends with a partial word where it does not divide.
uint64_t words_for(uint64_t count, int64_t bits, CodeOrder order);

// Code k of a sequence whose words lie `stride` apart goes to codes[k * code_stride]. `bits` is 2
// to 8; 4 for kAwq.
void unpack_codes(const uint32_t* words, uint64_t stride, uint64_t count, int64_t bits,
                  CodeOrder order, uint8_t* codes, uint64_t code_stride);
// The other way; codes must be below 2^bits. Unused bits are 0.
void pack_codes(const uint8_t* codes, uint64_t code_stride, uint64_t count, int64_t bits,
                CodeOrder order, uint32_t* words, uint64_t stride);

}  // namespace quench::formats
