#include "formats/packed/packed_codes.hpp"

#include <array>

namespace quench::formats {

namespace {

// Where code k begins: word, and bit in it.
struct Place {
  uint64_t word;
  unsigned bit;
};

Place place_of(uint64_t k, int64_t bits, CodeOrder order) {
  constexpr std::array<unsigned, 8> kNibble = {0, 4, 1, 5, 2, 6, 3, 7};  // of column k mod 8
  const auto width = static_cast<unsigned>(bits);
  if (order == CodeOrder::kAwq) {
    return {k / 8, 4 * kNibble[k % 8]};
  }
  if (order == CodeOrder::kPadded) {
    const unsigned per_word = 32 / width;
    return {k / per_word, static_cast<unsigned>(k % per_word) * width};
  }
  const uint64_t first = k * width;
  return {first / 32, static_cast<unsigned>(first % 32)};
}

}  // namespace

uint64_t words_for(uint64_t count, int64_t bits, CodeOrder order) {
  const auto width = static_cast<uint64_t>(bits);
  const uint64_t per_word = order == CodeOrder::kAwq ? 8 : 32 / width;
  return order == CodeOrder::kStream ? (count * width + 31) / 32
                                     : (count + per_word - 1) / per_word;
}

void unpack_codes(const uint32_t* words, uint64_t stride, uint64_t count, int64_t bits,
                  CodeOrder order, uint8_t* codes, uint64_t code_stride) {
  const uint32_t mask = (uint32_t{1} << bits) - 1;
  for (uint64_t k = 0; k < count; ++k) {
    const Place place = place_of(k, bits, order);
    uint32_t code = words[place.word * stride] >> place.bit;
    if (place.bit + static_cast<unsigned>(bits) > 32) {
      code |= words[(place.word + 1) * stride] << (32 - place.bit);
    }
    codes[k * code_stride] = static_cast<uint8_t>(code & mask);
  }
}

void pack_codes(const uint8_t* codes, uint64_t code_stride, uint64_t count, int64_t bits,
                CodeOrder order, uint32_t* words, uint64_t stride) {
  for (uint64_t w = 0; w < words_for(count, bits, order); ++w) {
    words[w * stride] = 0;
  }
  for (uint64_t k = 0; k < count; ++k) {
    const Place place = place_of(k, bits, order);
    const uint32_t code = codes[k * code_stride];
    words[place.word * stride] |= code << place.bit;
    if (place.bit + static_cast<unsigned>(bits) > 32) {
      words[(place.word + 1) * stride] |= code >> (32 - place.bit);
    }
  }
}

}  // namespace quench::formats
