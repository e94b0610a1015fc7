// The two 16-bit floats as they lie in memory. They are only converted, never computed with, but
// for pairs.
#pragma once

#include <cstdint>

namespace quench::matrix {

struct Bfloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

// Two successive bfloat16, the first in the lower half: what VDPBF16PS multiplies. It adds the
// product of the second ones to a float32 sum, rounded to nearest even, and then that of the first
// ones. Subnormal numbers are 0 there, as operands, sums and results.
struct [[gnu::packed]] Bfloat16Pair {
  uint32_t bits;
};

// The type in which products of T are summed.
template <typename T>
struct SumOf {
  using Type = T;
};
template <>
struct SumOf<Bfloat16Pair> {
  using Type = float;
};
template <typename T>
using Sum = typename SumOf<T>::Type;

}  // namespace quench::matrix
