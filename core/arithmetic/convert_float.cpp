#include "core/arithmetic/convert_float.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/error.hpp"

namespace quench {

namespace {

bool is(quench_dtype dtype, uint8_t code, uint8_t bits) {
  return dtype.code == code && dtype.bits == bits && dtype.lanes == 1;
}

// Loads elements by memcpy, which compilers turn into plain loads; the loops vectorize.
template <typename Stored, typename Convert>
void widen(const void* elements, uint64_t count, double* values, Convert convert) {
  const auto* bytes = static_cast<const char*>(elements);
  for (uint64_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, bytes + i * sizeof stored, sizeof stored);
    values[i] = convert(stored);
  }
}

template <typename Stored, typename Convert>
void narrow(const double* values, uint64_t count, void* elements, Convert convert) {
  auto* bytes = static_cast<char*>(elements);
  for (uint64_t i = 0; i < count; ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(bytes + i * sizeof stored, &stored, sizeof stored);
  }
}

double from_brain(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Shifting exponent and mantissa into place makes a float32 that is 2^112 too small, also for a
// subnormal half; infinity and NaN need the larger exponent.
double from_half(uint16_t bits) {
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFU) << 13;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const bool special = (bits & 0x7C00U) == 0x7C00U;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const uint32_t finite = std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(sign | (special ? magnitude | 0x7F800000U : finite));
}

// Rounds to nearest even among the numbers of `digits` binary digits whose lowest digit is at least
// 2^lowest. Scaling by powers of two is exact.
double round_to(double value, int digits, int lowest) {
  if (value == 0 || !std::isfinite(value)) {
    return value;
  }
  const int unit = std::max(std::ilogb(value) - (digits - 1), lowest);
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

uint16_t to_brain(double value) {
  // Beyond the largest float32 the conversion gives infinity or a number too large for bfloat16,
  // whose largest number has fewer digits; both become infinity here.
  const auto rounded = static_cast<float>(round_to(value, 8, -133));
  const auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16);
  return std::isnan(value) ? static_cast<uint16_t>(bits | 0x40U) : bits;
}

uint16_t to_half(double value) {
  const double rounded = round_to(value, 11, -24);
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  const double size = std::fabs(rounded);
  if (std::isnan(value)) {
    return static_cast<uint16_t>(sign | 0x7E00U);
  }
  if (size > 65504) {
    return static_cast<uint16_t>(sign | 0x7C00U);
  }
  if (size < 0x1p-14) {
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(size, 24)));
  }
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(size));
  return static_cast<uint16_t>(sign | ((bits - (112U << 23)) >> 13));
}

[[noreturn]] void not_floating(quench_dtype dtype) {
  fail(QUENCH_UNSUPPORTED, "dtype({},{},{}) is no floating-point type", dtype.code, dtype.bits,
       dtype.lanes);
}

}  // namespace

bool is_floating(quench_dtype dtype) {
  return is(dtype, QUENCH_DTYPE_FLOAT, 64) || is(dtype, QUENCH_DTYPE_FLOAT, 32) ||
         is(dtype, QUENCH_DTYPE_FLOAT, 16) || is(dtype, QUENCH_DTYPE_BFLOAT, 16);
}

void to_float64(quench_dtype dtype, const void* elements, uint64_t count, double* values) {
  if (is(dtype, QUENCH_DTYPE_FLOAT, 64)) {
    std::memcpy(values, elements, count * sizeof(double));
  } else if (is(dtype, QUENCH_DTYPE_FLOAT, 32)) {
    widen<float>(elements, count, values, [](float value) { return double{value}; });
  } else if (is(dtype, QUENCH_DTYPE_BFLOAT, 16)) {
    widen<uint16_t>(elements, count, values, from_brain);
  } else if (is(dtype, QUENCH_DTYPE_FLOAT, 16)) {
    widen<uint16_t>(elements, count, values, from_half);
  } else {
    not_floating(dtype);
  }
}

void from_float64(const double* values, uint64_t count, quench_dtype dtype, void* elements) {
  if (is(dtype, QUENCH_DTYPE_FLOAT, 64)) {
    std::memcpy(elements, values, count * sizeof(double));
  } else if (is(dtype, QUENCH_DTYPE_FLOAT, 32)) {
    narrow<float>(values, count, elements, [](double value) { return static_cast<float>(value); });
  } else if (is(dtype, QUENCH_DTYPE_BFLOAT, 16)) {
    narrow<uint16_t>(values, count, elements, to_brain);
  } else if (is(dtype, QUENCH_DTYPE_FLOAT, 16)) {
    narrow<uint16_t>(values, count, elements, to_half);
  } else {
    not_floating(dtype);
  }
}

}  // namespace quench
