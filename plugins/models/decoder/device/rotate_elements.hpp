// Rotary position embedding on a GPU: one pair of values at a time, in place.
#pragma once

#include <cstdint>

#include "shared/cuda/bfloat16.hpp"
#include "shared/cuda/for_each.hpp"

namespace quench::decoder {

// Of x [B,T,H,D] with inner stride 1 the first 2 * half elements of each head; cos and sin [B or 1,
// T, 1, half] of type A, no narrower than T. Each product and each sum is rounded to A on its own,
// as libtorch's operations are, and the result to T.
template <typename T, typename A>
struct RotateElements {
  T* x;
  const A* cos;
  const A* sin;
  uint32_t length;
  uint32_t heads;
  uint32_t half;
  uint32_t own_angles;  // 1: each row of the batch has its own
  int64_t row_stride;
  int64_t token_stride;
  int64_t head_stride;

  QUENCH_BOTH void operator()(int64_t element) const {
    const auto pair = static_cast<uint32_t>(element);
    const uint32_t i = pair % half;
    const uint32_t head = pair / half % heads;
    const uint32_t token = pair / half / heads;
    const uint32_t row = token / length;
    const uint32_t place = token % length;
    const int64_t angle = static_cast<int64_t>(own_angles != 0 ? token : place) * half + i;
    T* at = x + row * row_stride + place * token_stride + head * head_stride + i;
    const auto c = cuda::widened(cos[angle]);
    const auto s = cuda::widened(sin[angle]);
    const auto low = cuda::widened(at[0]);
    const auto high = cuda::widened(at[half]);
    cuda::round_to(cuda::rounded<A>(cuda::rounded<A>(low * c) - cuda::rounded<A>(high * s)), at[0]);
    cuda::round_to(cuda::rounded<A>(cuda::rounded<A>(high * c) + cuda::rounded<A>(low * s)),
                   at[half]);
  }
};

}  // namespace quench::decoder
