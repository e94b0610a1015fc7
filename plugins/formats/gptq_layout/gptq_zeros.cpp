#include "formats/gptq_layout/gptq_zeros.hpp"

#include <algorithm>
#include <array>

#include "formats/packed/packed_codes.hpp"
#include "formats/shared/failure.hpp"

namespace quench::formats {

namespace {

constexpr int64_t kThreeBits = 3;
constexpr uint8_t kSymmetricThreeBitZero = 4;
// What the reversed conversion took for a one in each field of words 0, 1, 2 of three.
constexpr std::array<uint32_t, 3> kReversed = {0x24924924, 0x92492492, 0x49249249};

// A one in each field of a word. Writers subtract it from whole words, so that a zero of 0 borrows
// from its neighbour; adding it to whole words gives back what was there.
uint32_t ones(int64_t bits) {
  return bits == 2 ? 0x55555555U : bits == 4 ? 0x11111111U : 0x01010101U;
}

void unpack(const std::vector<uint32_t>& words, int64_t bits, std::span<uint8_t> zeros) {
  unpack_codes(words.data(), 1, zeros.size(), bits, CodeOrder::kStream, zeros.data(), 1);
}

void decode_three_bits(const std::vector<uint32_t>& words, ThreeBitZeros how, uint64_t first_word,
                       std::span<uint8_t> zeros) {
  if (how == ThreeBitZeros::kAsDocumented) {
    unpack(words, kThreeBits, zeros);
    for (uint8_t& zero : zeros) {
      zero = static_cast<uint8_t>((zero + 1) & 7);
    }
    return;
  }
  std::vector<uint32_t> restored = words;
  for (size_t w = 0; w < restored.size(); ++w) {
    restored[w] += kReversed[(first_word + w) % kReversed.size()];
  }
  unpack(restored, kThreeBits, zeros);
}

bool all_symmetric(std::span<const uint8_t> zeros) {
  return std::all_of(zeros.begin(), zeros.end(),
                     [](uint8_t zero) { return zero == kSymmetricThreeBitZero; });
}

}  // namespace

void decode_gptq_zeros(const std::vector<uint32_t>& words, const GptqConfig& config, int64_t bits,
                       uint64_t first_word, std::span<uint8_t> zeros, const std::string& where) {
  if (!config.less_one) {
    unpack(words, bits, zeros);
    return;
  }
  if (bits != kThreeBits) {
    std::vector<uint32_t> restored = words;
    for (uint32_t& word : restored) {
      word += ones(bits);
    }
    unpack(restored, bits, zeros);
    return;
  }
  decode_three_bits(words, config.three_bit_zeros, first_word, zeros);
  if (!config.scheme.symmetric || config.varied || all_symmetric(zeros)) {
    return;
  }
  // A symmetric grid knows its zero, which tells the way better than a version does.
  const bool reversed = config.three_bit_zeros == ThreeBitZeros::kConstantsReversed;
  decode_three_bits(words,
                    reversed ? ThreeBitZeros::kAsDocumented : ThreeBitZeros::kConstantsReversed,
                    first_word, zeros);
  if (!all_symmetric(zeros)) {
    fail(QUENCH_DATA_LOSS,
         "{}: qzeros of 3 bits do not decode to 4, the zero of a symmetric grid, in any known way",
         where);
  }
}

void encode_gptq_zeros(std::span<const uint8_t> zeros, bool less_one, int64_t bits,
                       uint32_t* words) {
  std::vector<uint8_t> stored(zeros.begin(), zeros.end());
  for (uint8_t& zero : stored) {
    zero = static_cast<uint8_t>(zero - (less_one ? 1 : 0));
  }
  pack_codes(stored.data(), 1, stored.size(), bits, CodeOrder::kStream, words, 1);
}

}  // namespace quench::formats
