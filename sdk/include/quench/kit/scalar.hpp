// Element types of tensors: names, sizes, and the two 16-bit floats that C++20 does not have.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "quench/abi/tensor.h"
#include "quench/kit/error.hpp"

namespace quench::kit {

inline constexpr quench_dtype kFloat64{QUENCH_DTYPE_FLOAT, 64, 1};
inline constexpr quench_dtype kFloat32{QUENCH_DTYPE_FLOAT, 32, 1};
inline constexpr quench_dtype kFloat16{QUENCH_DTYPE_FLOAT, 16, 1};
inline constexpr quench_dtype kBFloat16{QUENCH_DTYPE_BFLOAT, 16, 1};
inline constexpr quench_dtype kInt64{QUENCH_DTYPE_INT, 64, 1};
inline constexpr quench_dtype kInt32{QUENCH_DTYPE_INT, 32, 1};
inline constexpr quench_dtype kUInt8{QUENCH_DTYPE_UINT, 8, 1};

inline bool same(quench_dtype a, quench_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

inline int64_t bytes_of(quench_dtype dtype) {
  return dtype.bits / 8;
}

inline std::string name_of(quench_dtype dtype) {
  const char* prefix = dtype.code == QUENCH_DTYPE_FLOAT    ? "float"
                       : dtype.code == QUENCH_DTYPE_BFLOAT ? "bfloat"
                       : dtype.code == QUENCH_DTYPE_INT    ? "int"
                       : dtype.code == QUENCH_DTYPE_UINT   ? "uint"
                       : dtype.code == QUENCH_DTYPE_BOOL   ? "bool"
                                                           : "dtype";
  return prefix + std::to_string(dtype.bits);
}

// Of elements that C++ has a type for. 16-bit floats are bits in uint16_t, whose dtype says which.
template <typename T>
constexpr quench_dtype dtype_of() {
  static_assert(std::is_integral_v<T> || std::is_same_v<T, float> || std::is_same_v<T, double>,
                "no tensor has elements of this type");
  constexpr int code = std::is_floating_point_v<T> ? QUENCH_DTYPE_FLOAT
                       : std::is_same_v<T, bool>   ? QUENCH_DTYPE_BOOL
                       : std::is_signed_v<T>       ? QUENCH_DTYPE_INT
                                                   : QUENCH_DTYPE_UINT;
  return {code, 8 * sizeof(T), 1};
}

// Converts IEEE 754 binary16 to float, exactly.
inline float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu;
  const uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t rebased = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (rebased << 23) | (mantissa << 13));
}

// Converts double to binary16 with one rounding, to nearest even.
inline uint16_t to_half(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000u : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return sign | 0x7E00u;
  }
  if (magnitude >= 65520.0) {  // halfway between 65504, the largest half, and 2^16
    return sign | 0x7C00u;
  }
  if (magnitude == 0.0) {
    return sign;
  }
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, m in [0.5, 1)
  const int place = exponent - 11 < -24 ? -24 : exponent - 11;  // exponent of the last kept bit
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -place)));
  if (place == -24) {
    return static_cast<uint16_t>(sign |
                                 steps);  // subnormal, or the smallest normal after rounding up
  }
  const uint32_t carried = steps + (static_cast<uint32_t>(place + 24) << 10);
  return static_cast<uint16_t>(sign | carried);
}

inline float from_bfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Converts double to bfloat16 with one rounding, to nearest even.
inline uint16_t to_bfloat(double value) {
  if (std::isnan(value)) {
    return 0x7FC0u;
  }
  // Rounding to float first would round twice. Rounding to odd instead keeps the second rounding
  // correct.
  const auto nearest = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (static_cast<double>(nearest) != value && std::isfinite(nearest)) {
    const bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
    bits = (away ? bits - 1 : bits) | 1u;
  }
  const uint32_t rounding = 0x7FFFu + ((bits >> 16) & 1u);
  return static_cast<uint16_t>((bits + rounding) >> 16);
}

}  // namespace quench::kit
