// Floating-point elements of at most 8 bits: a sign, an exponent and a mantissa, as OCP defines
// them (OFP8, 2023, and Microscaling Formats MX v1.0, 2023, section 5.3):
//
//   value = (-1)^s · 2^(E - bias) · (1 + M / 2^m)     for E > 0
//   value = (-1)^s · 2^(1 - bias) ·      M / 2^m      for E = 0, the subnormal numbers
//
// Rounding is to nearest, half to even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "shared/cuda/both.hpp"

namespace quench::number_formats {

// What the largest codes stand for.
enum class Specials {
  kNone,     // numbers, as all others: FP4 and FP6
  kNan,      // all bits set is NaN, and there is no infinity: E4M3FN
  kInfinity  // exponent all ones: infinity with M = 0, else NaN, as in IEEE 754: E5M2
};

// What becomes of a magnitude that rounds beyond the largest number.
enum class Overflow {
  kSaturate,  // the largest number, as in MX
  kSpecial    // infinity, or NaN where there is none; the largest number where there is neither
};

struct FloatElement {
  int exponent_bits;
  int mantissa_bits;
  Specials specials;

  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  // The exponent of the smallest normal number, and of all subnormal ones.
  constexpr int least_exponent() const { return 1 - bias(); }
  constexpr int sign_bit() const { return 1 << (exponent_bits + mantissa_bits); }
  // The code of the largest number.
  constexpr int largest_code() const {
    return specials == Specials::kNone  ? sign_bit() - 1
           : specials == Specials::kNan ? sign_bit() - 2
                                        : sign_bit() - 1 - (1 << mantissa_bits);
  }
  // Of a quiet NaN; only where there is one.
  constexpr int nan_code() const {
    return specials == Specials::kNan ? sign_bit() - 1
                                      : largest_code() + 1 + (1 << (mantissa_bits - 1));
  }
  // floor(log2(the largest number)), emax of the MX specification.
  constexpr int largest_exponent() const { return (largest_code() >> mantissa_bits) - bias(); }
};

inline constexpr FloatElement kE2M1{2, 1, Specials::kNone};
inline constexpr FloatElement kE2M3{2, 3, Specials::kNone};
inline constexpr FloatElement kE3M2{3, 2, Specials::kNone};
// What a GPU runs cannot refer to a constant of the host.
QUENCH_BOTH constexpr FloatElement e4m3() {
  return {4, 3, Specials::kNan};
}
inline constexpr FloatElement kE4M3 = e4m3();
inline constexpr FloatElement kE5M2{5, 2, Specials::kInfinity};

// 2^exponent, for -1022 <= exponent <= 1023.
QUENCH_BOTH inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// floor(log2(magnitude)) of a positive number, -1023 of a subnormal one.
QUENCH_BOTH inline int binade_of(double magnitude) {
  return static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52) - 1023;
}

// The number that a code stands for.
QUENCH_BOTH inline double decode(const FloatElement& element, uint8_t code) {
  const int magnitude = code & (element.sign_bit() - 1);
  const double sign = (code & element.sign_bit()) != 0 ? -1 : 1;
  const int mantissa = magnitude & ((1 << element.mantissa_bits) - 1);
  const int exponent = magnitude >> element.mantissa_bits;
  if (magnitude > element.largest_code()) {
    const bool infinite = element.specials == Specials::kInfinity && mantissa == 0;
    return sign * (infinite ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN());
  }
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << element.mantissa_bits);
  const int binade = exponent == 0 ? element.least_exponent() : exponent - element.bias();
  return sign * (whole * power_of_two(binade - element.mantissa_bits));
}

// The code of the number nearest to `x`, by arithmetic: `x` in units of its binade's spacing,
// rounded, is the code's mantissa, and a carry into the next binade is one into its exponent. NaN
// becomes a NaN; where there is none, 0.
QUENCH_BOTH inline uint8_t encode(const FloatElement& element, double x,
                                  Overflow overflow = Overflow::kSaturate) {
  const int sign = std::signbit(x) ? element.sign_bit() : 0;
  const double magnitude = std::fabs(x);
  const int least = element.least_exponent();
  const int largest = element.largest_code();
  if (magnitude >= power_of_two(element.largest_exponent() + 1)) {  // and no exponent overflows
    const bool special = overflow == Overflow::kSpecial && element.specials != Specials::kNone;
    return static_cast<uint8_t>(sign | (special ? largest + 1 : largest));
  }
  if (std::isnan(x)) {
    return static_cast<uint8_t>(element.specials == Specials::kNone ? 0
                                                                    : sign | element.nan_code());
  }
  const int own = binade_of(magnitude);
  const int binade = own < least ? least : own;
  const auto units =
      static_cast<int>(std::rint(magnitude * power_of_two(element.mantissa_bits - binade)));
  const int code = ((binade - least) << element.mantissa_bits) + units;
  if (code > largest) {
    const bool special = overflow == Overflow::kSpecial && element.specials != Specials::kNone;
    return static_cast<uint8_t>(sign | (special ? largest + 1 : largest));
  }
  return static_cast<uint8_t>(sign | code);
}

}  // namespace quench::number_formats
