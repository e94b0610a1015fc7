// Vectors of one instruction set, for the files that each_isa.hpp compiles. Uses the compiler's
// vector extensions where they suffice, and intrinsics otherwise (multiply-add, partial vectors,
// transposes, powers of two). Included once per instruction set.
//
// AVX-512 and AVX2 give the same bits if the lanes of a kernel are independent or there are 16 of
// them. The portable version rounds a product before it is added, so its bits differ.
#include "shared/matrix/half.hpp"

#define QUENCH_INLINE __attribute__((always_inline)) inline

namespace quench::matrix::QUENCH_ISA_NAMESPACE {

QUENCH_INLINE int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

template <typename T>
struct Simd {
  static constexpr int64_t kCount = QUENCH_ISA_BYTES / sizeof(T);
  typedef T Vector __attribute__((vector_size(QUENCH_ISA_BYTES)));

  QUENCH_INLINE static Vector zero() { return Vector{}; }
  QUENCH_INLINE static Vector same(T x) { return x - Vector{}; }
  // NaN if b is NaN.
  QUENCH_INLINE static Vector greater(Vector a, Vector b) { return a > b ? a : b; }

  QUENCH_INLINE static Vector load(const T* from) {
    Vector x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
  }
  QUENCH_INLINE static void store(T* to, Vector x) { __builtin_memcpy(to, &x, sizeof x); }

  // Loads the first `count` lanes, which may be none or more than there are, and 0 in the others.
  QUENCH_INLINE static Vector load(const T* from, int64_t count) {
    if (count >= kCount) {
      return load(from);
    }
    return load_part(from, count);
  }
  // x, and 0 from lane `count` on.
  QUENCH_INLINE static Vector first(Vector x, int64_t count) {
    Vector lane;
    for (int64_t i = 0; i < kCount; ++i) {
      lane[i] = static_cast<T>(i);
    }
    return lane < same(static_cast<T>(count)) ? x : zero();
  }
  QUENCH_INLINE static void store(T* to, int64_t count, Vector x) {
    if (count >= kCount) {
      return store(to, x);
    }
    store_part(to, count, x);
  }

  // The same, widened.
  template <typename From>
  QUENCH_INLINE static Vector load(const From* from, int64_t count) {
    From part[kCount];
    if (count < kCount) {
      for (int64_t i = 0; i < kCount; ++i) {
        part[i] = i < count ? from[i] : From{};
      }
      from = part;
    }
    return widened(from);
  }

#if QUENCH_ISA_BYTES == 64
  QUENCH_INLINE static Vector multiply_add(Vector x, Vector y, Vector z) {
    if constexpr (sizeof(T) == 4) {
      return _mm512_fmadd_ps(x, y, z);
    } else {
      return _mm512_fmadd_pd(x, y, z);
    }
  }
#elif QUENCH_ISA_BYTES == 32
  QUENCH_INLINE static Vector multiply_add(Vector x, Vector y, Vector z) {
    if constexpr (sizeof(T) == 4) {
      return _mm256_fmadd_ps(x, y, z);
    } else {
      return _mm256_fmadd_pd(x, y, z);
    }
  }
#else
  QUENCH_INLINE static Vector multiply_add(Vector x, Vector y, Vector z) {
    return x * y + z;
  }
#endif

 private:
#if QUENCH_ISA_BYTES == 64
  QUENCH_INLINE static uint32_t mask(int64_t count) {
    return count <= 0 ? 0 : (uint32_t{1} << count) - 1;
  }
  QUENCH_INLINE static Vector load_part(const T* from, int64_t count) {
    if constexpr (sizeof(T) == 4) {
      return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask(count)), from);
    } else {
      return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask(count)), from);
    }
  }
  QUENCH_INLINE static void store_part(T* to, int64_t count, Vector x) {
    if constexpr (sizeof(T) == 4) {
      _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask(count)), x);
    } else {
      _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask(count)), x);
    }
  }
#elif QUENCH_ISA_BYTES == 32
  QUENCH_INLINE static __m256i mask(int64_t count) {
    if constexpr (sizeof(T) == 4) {
      return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(count)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    } else {
      return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    }
  }
  QUENCH_INLINE static Vector load_part(const T* from, int64_t count) {
    if constexpr (sizeof(T) == 4) {
      return _mm256_maskload_ps(from, mask(count));
    } else {
      return _mm256_maskload_pd(from, mask(count));
    }
  }
  QUENCH_INLINE static void store_part(T* to, int64_t count, Vector x) {
    if constexpr (sizeof(T) == 4) {
      _mm256_maskstore_ps(to, mask(count), x);
    } else {
      _mm256_maskstore_pd(to, mask(count), x);
    }
  }
#else
  QUENCH_INLINE static Vector load_part(const T* from, int64_t count) {
    Vector x{};
    for (int64_t i = 0; i < count; ++i) {
      x[i] = from[i];
    }
    return x;
  }
  QUENCH_INLINE static void store_part(T* to, int64_t count, Vector x) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = x[i];
    }
  }
#endif

  typedef uint32_t Words __attribute__((vector_size(QUENCH_ISA_BYTES)));
  typedef uint16_t Halves __attribute__((vector_size(QUENCH_ISA_BYTES / 2)));

  QUENCH_INLINE static Vector widened(const float* from) {
#if QUENCH_ISA_BYTES == 64
    return _mm512_cvtps_pd(_mm256_loadu_ps(from));
#elif QUENCH_ISA_BYTES == 32
    return _mm256_cvtps_pd(_mm_loadu_ps(from));
#else
    typedef float Narrow __attribute__((vector_size(QUENCH_ISA_BYTES / 2)));
    Narrow x;
    __builtin_memcpy(&x, from, sizeof x);
    return __builtin_convertvector(x, Vector);
#endif
  }
  QUENCH_INLINE static Vector widened(const Bfloat16* from) {
    Halves x;
    __builtin_memcpy(&x, from, sizeof x);
    return reinterpret_cast<Vector>(__builtin_convertvector(x, Words) << 16);
  }
  // Adds 112 to the exponent by a product, which is right for subnormals too; all ones stay all
  // ones.
  QUENCH_INLINE static Vector widened(const Float16* from) {
    Halves half;
    __builtin_memcpy(&half, from, sizeof half);
    const Words x = __builtin_convertvector(half, Words);
    const Words size = x & 0x7FFF;
    const Words finite = reinterpret_cast<Words>(reinterpret_cast<Vector>(size << 13) * 0x1p112F);
    const Words special = (size << 13) | 0x7F800000;
    return reinterpret_cast<Vector>((size >= 0x7C00 ? special : finite) | ((x & 0x8000) << 16));
  }
};

// Moves rows[i] lane j to rows[j] lane i.
#if QUENCH_ISA_BYTES == 64
QUENCH_INLINE void transpose(Simd<float>::Vector (&rows)[16]) {
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
QUENCH_INLINE void transpose(Simd<double>::Vector (&rows)[8]) {
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
#elif QUENCH_ISA_BYTES == 32
QUENCH_INLINE void transpose(Simd<float>::Vector (&rows)[8]) {
  __m256 pairs[8];
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(rows[i], rows[i + 1]));
    const __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(rows[i], rows[i + 1]));
    const __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(rows[i + 2], rows[i + 3]));
    const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(rows[i + 2], rows[i + 3]));
    pairs[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
    pairs[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
    pairs[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
    pairs[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
  }
  // pairs[4 r + c]: lanes 4 q + (0..3) are rows 4 r + (0..3), column 4 q + c.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    rows[c] = _mm256_permute2f128_ps(pairs[c], pairs[4 + c], 0x20);
    rows[4 + c] = _mm256_permute2f128_ps(pairs[c], pairs[4 + c], 0x31);
  }
}
QUENCH_INLINE void transpose(Simd<double>::Vector (&rows)[4]) {
  __m256d pairs[4];
#pragma GCC unroll 2
  for (int i = 0; i < 4; i += 2) {
    pairs[i] = _mm256_unpacklo_pd(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_pd(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 2
  for (int c = 0; c < 2; ++c) {
    rows[c] = _mm256_permute2f128_pd(pairs[c], pairs[2 + c], 0x20);
    rows[2 + c] = _mm256_permute2f128_pd(pairs[c], pairs[2 + c], 0x31);
  }
}
#else
template <typename Vector, int kCount>
QUENCH_INLINE void transpose(Vector (&rows)[kCount]) {
  Vector columns[kCount];
  for (int i = 0; i < kCount; ++i) {
    for (int j = 0; j < kCount; ++j) {
      columns[j][i] = rows[i][j];
    }
  }
  for (int i = 0; i < kCount; ++i) {
    rows[i] = columns[i];
  }
}
#endif

}  // namespace quench::matrix::QUENCH_ISA_NAMESPACE
