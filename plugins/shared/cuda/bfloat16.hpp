// The upper half of a float32, for kernels: libtorch's own type needs its headers.
#pragma once

#include <cstdint>
#include <cstring>

#include "shared/cuda/both.hpp"

namespace quench::cuda {

struct Bfloat16 {
  uint16_t bits;
};

QUENCH_BOTH inline float widened(Bfloat16 value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float out = 0;
  memcpy(&out, &bits, sizeof out);
  return out;
}
QUENCH_BOTH inline float widened(float value) {
  return value;
}
QUENCH_BOTH inline double widened(double value) {
  return value;
}

// To nearest, ties to even; NaN stays one.
QUENCH_BOTH inline void round_to(float value, Bfloat16& out) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  out.bits = static_cast<uint16_t>(nan ? 0x7fc0U : (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
QUENCH_BOTH inline void round_to(float value, float& out) {
  out = value;
}
QUENCH_BOTH inline void round_to(double value, double& out) {
  out = value;
}

// The value of T that is nearest, as the wider type.
template <typename T, typename Wide>
QUENCH_BOTH Wide rounded(Wide value) {
  T held;
  round_to(value, held);
  return widened(held);
}

}  // namespace quench::cuda
