// e^x of 16 values, for functions that are compiled for AVX-512.
#pragma once

#include "shared/matrix/lanes.hpp"

namespace quench::decoder {

// e^x for x <= 0, to about one unit in the last place; NaN stays NaN.
QUENCH_AVX512_INLINE __m512 exponential(__m512 x) {
  const __m512 held = _mm512_max_ps(_mm512_set1_ps(-104.0F), x);  // e^-104 is 0 in float32
  const __m512 n =
      _mm512_roundscale_ps(_mm512_mul_ps(held, _mm512_set1_ps(1.44269504F)), 0x08);  // to nearest
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693145752F), held);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(1.42860677e-6F), r);
  // Taylor's series; |r| <= 0.3466, so what is left out is 7e-9 of the sum.
  __m512 sum = _mm512_set1_ps(1.0F / 5040);
  for (const float factor : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F}) {
    sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(factor));
  }
  return _mm512_scalef_ps(sum, n);
}

}  // namespace quench::decoder
