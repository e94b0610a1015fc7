// Vectors of AVX-512 as the kernels need them, for float and double. Functions here are compiled
// for that instruction set whatever the flags of the file, and may be called from such functions
// only.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#define QUENCH_AVX512 __attribute__((target("avx512f")))
#define QUENCH_AVX512_INLINE __attribute__((target("avx512f"), always_inline)) inline

namespace quench::matrix {

template <typename T>
struct Lanes;

template <>
struct Lanes<float> {
  using Vector = __m512;
  using Mask = __mmask16;
  static constexpr int64_t kCount = 16;
  QUENCH_AVX512_INLINE static Mask first(int64_t count) {
    return count >= 16 ? 0xFFFF : static_cast<Mask>((1U << std::max<int64_t>(0, count)) - 1);
  }
  QUENCH_AVX512_INLINE static Vector zero() { return _mm512_setzero_ps(); }
  QUENCH_AVX512_INLINE static Vector same(float x) { return _mm512_set1_ps(x); }
  QUENCH_AVX512_INLINE static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  QUENCH_AVX512_INLINE static Vector load(Mask mask, const float* from) {
    return _mm512_maskz_loadu_ps(mask, from);
  }
  QUENCH_AVX512_INLINE static void store(float* to, Mask mask, Vector x) {
    _mm512_mask_storeu_ps(to, mask, x);
  }
  QUENCH_AVX512_INLINE static Vector multiply_add(Vector x, Vector y, Vector z) {
    return _mm512_fmadd_ps(x, y, z);
  }
};

template <>
struct Lanes<double> {
  using Vector = __m512d;
  using Mask = __mmask8;
  static constexpr int64_t kCount = 8;
  QUENCH_AVX512_INLINE static Mask first(int64_t count) {
    return count >= 8 ? 0xFF : static_cast<Mask>((1U << std::max<int64_t>(0, count)) - 1);
  }
  QUENCH_AVX512_INLINE static Vector zero() { return _mm512_setzero_pd(); }
  QUENCH_AVX512_INLINE static Vector same(double x) { return _mm512_set1_pd(x); }
  QUENCH_AVX512_INLINE static Vector load(const double* from) { return _mm512_loadu_pd(from); }
  QUENCH_AVX512_INLINE static Vector load(Mask mask, const double* from) {
    return _mm512_maskz_loadu_pd(mask, from);
  }
  QUENCH_AVX512_INLINE static Vector load(Mask mask, const float* from) {
    return _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_maskz_loadu_ps(mask, from)));
  }
  QUENCH_AVX512_INLINE static void store(double* to, Mask mask, Vector x) {
    _mm512_mask_storeu_pd(to, mask, x);
  }
  QUENCH_AVX512_INLINE static Vector multiply_add(Vector x, Vector y, Vector z) {
    return _mm512_fmadd_pd(x, y, z);
  }
};

// rows[i] lane j -> rows[j] lane i.
QUENCH_AVX512_INLINE void transpose(__m512 (&rows)[16]) {
  __m512d pairs[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512 a = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    const __m512 b = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
    const __m512 c = _mm512_unpacklo_ps(rows[i + 2], rows[i + 3]);
    const __m512 d = _mm512_unpackhi_ps(rows[i + 2], rows[i + 3]);
    pairs[i] = _mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(c));
    pairs[i + 1] = _mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(c));
    pairs[i + 2] = _mm512_unpacklo_pd(_mm512_castps_pd(b), _mm512_castps_pd(d));
    pairs[i + 3] = _mm512_unpackhi_pd(_mm512_castps_pd(b), _mm512_castps_pd(d));
  }
  // pairs[4 r + c]: lanes 4 q + (0..3) are rows 4 r + (0..3), column 4 q + c.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512 a = _mm512_castpd_ps(pairs[c]);
    const __m512 b = _mm512_castpd_ps(pairs[4 + c]);
    const __m512 d = _mm512_castpd_ps(pairs[8 + c]);
    const __m512 e = _mm512_castpd_ps(pairs[12 + c]);
    const __m512 ab_even = _mm512_shuffle_f32x4(a, b, 0x88);
    const __m512 ab_odd = _mm512_shuffle_f32x4(a, b, 0xDD);
    const __m512 de_even = _mm512_shuffle_f32x4(d, e, 0x88);
    const __m512 de_odd = _mm512_shuffle_f32x4(d, e, 0xDD);
    rows[c] = _mm512_shuffle_f32x4(ab_even, de_even, 0x88);
    rows[8 + c] = _mm512_shuffle_f32x4(ab_even, de_even, 0xDD);
    rows[4 + c] = _mm512_shuffle_f32x4(ab_odd, de_odd, 0x88);
    rows[12 + c] = _mm512_shuffle_f32x4(ab_odd, de_odd, 0xDD);
  }
}

QUENCH_AVX512_INLINE void transpose(__m512d (&rows)[8]) {
  __m512d pairs[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm512_unpacklo_pd(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_pd(rows[i], rows[i + 1]);
  }
  // pairs[2 r + c]: lanes 2 q + (0, 1) are rows 2 r + (0, 1), column 2 q + c.
#pragma GCC unroll 2
  for (int c = 0; c < 2; ++c) {
    const __m512d ab_even = _mm512_shuffle_f64x2(pairs[c], pairs[2 + c], 0x88);
    const __m512d ab_odd = _mm512_shuffle_f64x2(pairs[c], pairs[2 + c], 0xDD);
    const __m512d de_even = _mm512_shuffle_f64x2(pairs[4 + c], pairs[6 + c], 0x88);
    const __m512d de_odd = _mm512_shuffle_f64x2(pairs[4 + c], pairs[6 + c], 0xDD);
    rows[c] = _mm512_shuffle_f64x2(ab_even, de_even, 0x88);
    rows[4 + c] = _mm512_shuffle_f64x2(ab_even, de_even, 0xDD);
    rows[2 + c] = _mm512_shuffle_f64x2(ab_odd, de_odd, 0x88);
    rows[6 + c] = _mm512_shuffle_f64x2(ab_odd, de_odd, 0xDD);
  }
}

}  // namespace quench::matrix
