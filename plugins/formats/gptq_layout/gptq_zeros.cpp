#include "formats/gptq_layout/gptq_zeros.hpp"

#include <algorithm>
#include <array>

#include "formats/packed/packed_codes.hpp"
#include "formats/shared/failure.hpp"

namespace quench::formats {

namespace {

constexpr int64_t kThreeBits = 3;
// What the reversed conversion took for a one in each field of words 0, 1, 2 of three.
constexpr std::array<uint32_t, 3> kReversed = {0x24924924, 0x92492492, 0x49249249};

// What the fields of qzeros are.
enum class Reading { kZeros, kLessOne, kReversedConstants };  // the last: of three bits alone
constexpr std::array kReadings = {Reading::kZeros, Reading::kLessOne, Reading::kReversedConstants};

// A one in each field of a word. Writers subtract it from whole words, so that a zero of 0 borrows
// from its neighbour; adding it to whole words gives back what was there.
uint32_t ones(int64_t bits) {
  return bits == 2 ? 0x55555555U : bits == 4 ? 0x11111111U : 0x01010101U;
}

void unpack(const std::vector<uint32_t>& words, int64_t bits, std::span<uint8_t> zeros) {
  unpack_codes(words.data(), 1, zeros.size(), bits, CodeOrder::kStream, zeros.data(), 1);
}

// Fields of three bits may lie in two words: ones are added field by field.
void decode_three_bits_less_one(const std::vector<uint32_t>& words, std::span<uint8_t> zeros) {
  unpack(words, kThreeBits, zeros);
  for (uint8_t& zero : zeros) {
    zero = static_cast<uint8_t>((zero + 1) & 7);
  }
}

void decode(const std::vector<uint32_t>& words, Reading reading, int64_t bits, uint64_t first_word,
            std::span<uint8_t> zeros) {
  if (reading == Reading::kZeros) {
    return unpack(words, bits, zeros);
  }
  if (reading == Reading::kLessOne && bits == kThreeBits) {
    return decode_three_bits_less_one(words, zeros);
  }
  std::vector<uint32_t> restored = words;
  for (size_t w = 0; w < restored.size(); ++w) {
    restored[w] +=
        reading == Reading::kLessOne ? ones(bits) : kReversed[(first_word + w) % kReversed.size()];
  }
  unpack(restored, bits, zeros);
}

Reading named_reading(const GptqConfig& config, int64_t bits) {
  if (!config.less_one) {
    return Reading::kZeros;
  }
  return bits == kThreeBits && config.three_bit_zeros == ThreeBitZeros::kConstantsReversed
             ? Reading::kReversedConstants
             : Reading::kLessOne;
}

}  // namespace

void decode_gptq_zeros(const std::vector<uint32_t>& words, const GptqConfig& config, int64_t bits,
                       uint64_t first_word, std::span<uint8_t> zeros, const std::string& where) {
  decode(words, named_reading(config, bits), bits, first_word, zeros);
  if (!config.scheme.symmetric || config.varied) {
    return;
  }
  // A symmetric grid knows its zero, which tells the way better than a format's name or a version
  // does. No words give it in two ways.
  const auto middle = static_cast<uint8_t>(1U << (bits - 1));
  const auto is_middle = [&](uint8_t zero) { return zero == middle; };
  for (const Reading other : kReadings) {
    if (std::all_of(zeros.begin(), zeros.end(), is_middle)) {
      return;
    }
    if (other != Reading::kReversedConstants || bits == kThreeBits) {
      decode(words, other, bits, first_word, zeros);
    }
  }
  if (!std::all_of(zeros.begin(), zeros.end(), is_middle)) {
    fail(
        QUENCH_DATA_LOSS,
        "{}: qzeros of {} bits do not decode to {}, the zero of a symmetric grid, in any known way",
        where, bits, middle);
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
