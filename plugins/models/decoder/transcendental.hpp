// e^x, tanh and the error function of floats, in operations that compilers vectorize. No vector
// library and no C library takes part: with -ffp-contract=off every instruction set gives the same
// bits, inside vectors and in the remainder after them. The double versions call the C library.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "shared/cuda/both.hpp"

namespace quench::decoder {

// Evaluates the polynomial with these coefficients, highest power first.
template <typename... Factors>
[[gnu::always_inline]] QUENCH_BOTH inline float polynomial(float x, float first,
                                                           Factors... factors) {
  float sum = first;
  ((sum = sum * x + factors), ...);
  return sum;
}

// Accurate to about one unit in the last place (the Cephes library's polynomial); NaN stays NaN.
[[gnu::always_inline]] QUENCH_BOTH inline float exponential(float x) {
  constexpr float kMagic = 12582912;  // 1.5 * 2^23: adding it leaves a whole number in the low bits
  float held = x < -104.0F ? -104.0F : x;  // e^-104 is 0 in float32, e^89 is infinite
  held = held > 89.0F ? 89.0F : held;
  const float shifted = held * 1.44269504F + kMagic;
  const float n = shifted - kMagic;
  const float r = held - n * 0.693359375F + n * 2.12194440e-4F;  // the first product is exact
  float sum = polynomial(r, 1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F,
                         1.6666665459e-1F, 5.0000001201e-1F);
  sum = sum * (r * r) + r + 1.0F;
  // 2^n in two factors, since n reaches from -150 to 128.
  const int32_t whole = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kMagic);
  const int32_t half = whole >> 1;
  const auto power = [](int32_t exponent) {
    return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
  };
  return sum * power(half) * power(whole - half);
}

inline double exponential(double x) {
  return std::exp(x);
}

// Accurate to about two units in the last place: a polynomial near 0, 1 - e^p(|x|) elsewhere.
[[gnu::always_inline]] inline float error_function(float x) {
  const float size = std::fabs(x);
  const float square = x * x;
  const float low = polynomial(size, -1.72853470e-5F, 3.83197126e-4F);
  const float high = polynomial(size, -3.88396438e-3F, 2.42546219e-2F);
  const float power =
      polynomial(size, low * square + high, -1.06777877e-1F, -6.34846687e-1F, -1.28717512e-1F);
  const float far = 1.0F - exponential(power * size - size);
  const float near = polynomial(square, -5.96761703e-4F, 4.99119423e-3F, -2.67681349e-2F,
                                1.12819925e-1F, -3.76125336e-1F, 1.28379166e-1F);
  return size > 0.927734375F ? std::copysign(far, x) : near * x + x;
}

inline double error_function(double x) {
  return std::erf(x);
}

// Accurate to about two units in the last place: a polynomial near 0 (Cephes), else by e^(-2|x|).
[[gnu::always_inline]] inline float hyperbolic_tangent(float x) {
  const float size = std::fabs(x);
  const float square = x * x;
  const float near = polynomial(square, -5.70498872745e-3F, 2.06390887954e-2F, -5.37397155531e-2F,
                                1.33314422036e-1F, -3.33332819422e-1F) *
                         square * x +
                     x;
  const float power = exponential(-2.0F * size);
  const float far = (1.0F - power) / (1.0F + power);
  return size < 0.625F ? near : std::copysign(far, x);
}

inline double hyperbolic_tangent(double x) {
  return std::tanh(x);
}

}  // namespace quench::decoder
