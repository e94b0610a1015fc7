#include "formats/gguf/blocks.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "quench/kit/scalar.hpp"

namespace quench::gguf {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int kBlock = 32;   // elements of the plain types
constexpr int kSuper = 256;  // elements of the K types

float half_at(const std::byte* at) {
  uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return kit::from_half(bits);
}

// Bit `i` of a little-endian row of bits.
uint32_t bit_at(const std::byte* bits, int i) {
  return std::to_integer<uint32_t>(bits[i / 8]) >> (i % 8) & 1U;
}

// The code of element `i` of a plain block: low nibbles are the first half, high ones the second.
uint32_t nibble_at(const std::byte* codes, int i) {
  constexpr int kHalf = kBlock / 2;
  const auto both = std::to_integer<uint32_t>(codes[i % kHalf]);
  return i < kHalf ? both & 0xFU : both >> 4;
}

// Scale and minimum of each of a block's eight sub-blocks of 32, six bits each in twelve bytes: the
// first four have the low bits of bytes 0..3 and 4..7; of the others, bytes 8..11 hold the lower
// four bits and the upper bits of bytes 0..7 the rest.
struct ScaleAndMinimum {
  float scale;
  float minimum;
};
ScaleAndMinimum scale_and_minimum(const std::byte* packed, int sub_block) {
  const auto byte = [packed](int i) { return std::to_integer<uint32_t>(packed[i]); };
  if (sub_block < 4) {
    return {static_cast<float>(byte(sub_block) & 63U),
            static_cast<float>(byte(sub_block + 4) & 63U)};
  }
  const uint32_t low = byte(sub_block + 4);
  return {static_cast<float>((low & 0xFU) | (byte(sub_block - 4) >> 6 << 4)),
          static_cast<float>((low >> 4) | (byte(sub_block) >> 6 << 4))};
}

// Q4_K and Q5_K: sub-blocks 2i and 2i + 1 are the low and the high nibbles of 32 bytes. `fifth`
// has the fifth bits, bit s of byte j for element j of sub-block s, or is nullptr.
void decode_k_nibbles(const std::byte* block, const std::byte* codes, const std::byte* fifth,
                      float* elements) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  for (int s = 0; s < kSuper / kBlock; ++s) {
    const auto [scale, minimum] = scale_and_minimum(block + 4, s);
    const float step = d * scale;
    const float below = m * minimum;
    for (int j = 0; j < kBlock; ++j) {
      const auto both = std::to_integer<uint32_t>(codes[s / 2 * kBlock + j]);
      uint32_t q = s % 2 == 0 ? both & 0xFU : both >> 4;
      if (fifth != nullptr) {
        q |= (std::to_integer<uint32_t>(fifth[j]) >> s & 1U) << 4;
      }
      elements[s * kBlock + j] = step * static_cast<float>(q) - below;
    }
  }
}

// Two bits of element `i` of a K block: 128 elements share 32 bytes, four a byte.
uint32_t pair_at(const std::byte* pairs, int i) {
  const int half = i / 128;
  const int within = i % 128;
  return std::to_integer<uint32_t>(pairs[half * 32 + within % 32]) >> (within / 32 * 2) & 3U;
}

}  // namespace

void decode_q4_0(const std::byte* block, float* elements) {
  const float d = half_at(block);
  for (int i = 0; i < kBlock; ++i) {
    elements[i] = d * static_cast<float>(static_cast<int>(nibble_at(block + 2, i)) - 8);
  }
}

void decode_q4_1(const std::byte* block, float* elements) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  for (int i = 0; i < kBlock; ++i) {
    elements[i] = d * static_cast<float>(nibble_at(block + 4, i)) + m;
  }
}

void decode_q5_0(const std::byte* block, float* elements) {
  const float d = half_at(block);
  for (int i = 0; i < kBlock; ++i) {
    const uint32_t q = nibble_at(block + 6, i) | bit_at(block + 2, i) << 4;
    elements[i] = d * static_cast<float>(static_cast<int>(q) - 16);
  }
}

void decode_q5_1(const std::byte* block, float* elements) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  for (int i = 0; i < kBlock; ++i) {
    const uint32_t q = nibble_at(block + 8, i) | bit_at(block + 4, i) << 4;
    elements[i] = d * static_cast<float>(q) + m;
  }
}

void decode_q8_0(const std::byte* block, float* elements) {
  const float d = half_at(block);
  for (int i = 0; i < kBlock; ++i) {
    elements[i] = static_cast<float>(std::to_integer<int8_t>(block[2 + i])) * d;
  }
}

// 16 bytes of scales (low nibble) and minima (high), 64 bytes of codes, d, m.
void decode_q2_k(const std::byte* block, float* elements) {
  const float d = half_at(block + 80);
  const float m = half_at(block + 82);
  for (int s = 0; s < 16; ++s) {
    const auto both = std::to_integer<uint32_t>(block[s]);
    const float step = d * static_cast<float>(both & 0xFU);
    const float below = m * static_cast<float>(both >> 4);
    for (int i = s * 16; i < (s + 1) * 16; ++i) {
      elements[i] = step * static_cast<float>(pair_at(block + 16, i)) - below;
    }
  }
}

// 32 bytes of third bits, 64 bytes of the lower two, 12 bytes of scales, d. A third bit of 0 takes
// 4 from the code.
void decode_q3_k(const std::byte* block, float* elements) {
  const std::byte* scales = block + 96;
  const float d = half_at(block + 108);
  for (int s = 0; s < 16; ++s) {
    const auto low = std::to_integer<uint32_t>(scales[s % 8]) >> (s / 8 * 4) & 0xFU;
    const auto high = std::to_integer<uint32_t>(scales[8 + s % 4]) >> (s / 4 * 2) & 3U;
    const float step = d * static_cast<float>(static_cast<int>(low | high << 4) - 32);
    for (int i = s * 16; i < (s + 1) * 16; ++i) {
      const auto third = std::to_integer<uint32_t>(block[i % 32]) >> (i / 32) & 1U;
      const int q = static_cast<int>(pair_at(block + 32, i)) - (third != 0 ? 0 : 4);
      elements[i] = step * static_cast<float>(q);
    }
  }
}

void decode_q4_k(const std::byte* block, float* elements) {
  decode_k_nibbles(block, block + 16, nullptr, elements);
}

void decode_q5_k(const std::byte* block, float* elements) {
  decode_k_nibbles(block, block + 48, block + 16, elements);
}

// 128 bytes of lower nibbles, 64 bytes of upper pairs, 16 scales of 8 bits with a sign, d. Of 128
// elements, the first 64 have the low nibbles of 64 bytes, the others the high ones.
void decode_q6_k(const std::byte* block, float* elements) {
  const float d = half_at(block + 208);
  for (int s = 0; s < 16; ++s) {
    const float step = d * static_cast<float>(std::to_integer<int8_t>(block[192 + s]));
    for (int i = s * 16; i < (s + 1) * 16; ++i) {
      const int within = i % 128;
      const auto both = std::to_integer<uint32_t>(block[i / 128 * 64 + within % 64]);
      const uint32_t low = within < 64 ? both & 0xFU : both >> 4;
      const uint32_t q = low | pair_at(block + 128, i) << 4;
      elements[i] = step * static_cast<float>(static_cast<int>(q) - 32);
    }
  }
}

}  // namespace quench::gguf
