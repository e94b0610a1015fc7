#include "shared/matrix/kernel.hpp"

#ifdef QUENCH_HAS_MATRIX_KERNELS

#include "shared/matrix/lanes.hpp"
#include "shared/matrix/tile.hpp"

namespace quench::matrix {

namespace {

// x, or its lower or upper half in float64.
QUENCH_AVX512_INLINE __m512d half_of(__m512 x, int half) {
  const __m512d bits = _mm512_castps_pd(x);
  return _mm512_cvtps_pd(
      _mm256_castpd_ps(half == 0 ? _mm512_castpd512_pd256(bits) : _mm512_extractf64x4_pd(bits, 1)));
}

// to[0..lanes) = (add ? to : bias or 0) + factor * sum
template <typename T>
QUENCH_AVX512_INLINE void finish(const Tile<T, T>& tile, int64_t i, int64_t j,
                                 typename Lanes<T>::Vector sum) {
  using L = Lanes<T>;
  const auto mask = L::first(tile.columns - j);
  T* to = tile.to + i * tile.stride + j;
  const auto before = tile.add               ? L::load(mask, to)
                      : tile.bias != nullptr ? L::load(mask, tile.bias + j)
                                             : L::zero();
  L::store(to, mask, L::multiply_add(L::same(static_cast<T>(tile.factor)), sum, before));
}

QUENCH_AVX512_INLINE void finish(const Tile<float, double>& tile, int64_t i, int64_t j,
                                 __m512 sum) {
  using L = Lanes<double>;
  for (int half = 0; half < 2; ++half) {
    const auto mask = L::first(tile.columns - j - half * L::kCount);
    double* to = tile.to + i * tile.stride + j + half * L::kCount;
    const __m512d before = tile.add ? L::load(mask, to) : L::zero();
    L::store(to, mask, L::multiply_add(L::same(tile.factor), half_of(sum, half), before));
  }
}

// The tile's rows of a begin at `a`. kDeep: they lie `stride` apart, each with its depth in a row;
// else the rows of one k are neighbours, and k's lie `stride` apart.
template <bool kDeep, typename T, typename To>
QUENCH_AVX512 void run(const T* __restrict a, int64_t stride, const T* __restrict b, int64_t depth,
                       const Tile<T, To>& tile) {
  using L = Lanes<T>;
  for (int64_t i = 0; tile.add && i < tile.rows; ++i) {
    for (int64_t line = 0; line < tile.columns * static_cast<int64_t>(sizeof(To)); line += 64) {
      __builtin_prefetch(reinterpret_cast<const char*>(tile.to + i * tile.stride) + line, 1);
    }
  }
  typename L::Vector sums[kTileRows][2];
#pragma GCC unroll 14
  for (auto& sum : sums) {
    sum[0] = L::zero();
    sum[1] = L::zero();
  }
  // Every third row: with the strides 1 and 2 that addresses can hold, few registers reach all.
  const T* third[] = {a, a + 3 * stride, a + 6 * stride, a + 9 * stride, a + 12 * stride};
  for (int64_t k = 0; k < depth; ++k, b += kTileColumns<T>) {
    const auto left = L::load(b);
    const auto right = L::load(b + L::kCount);
#pragma GCC unroll 14
    for (int64_t i = 0; i < kTileRows; ++i) {
      const auto x = L::same(kDeep ? third[i / 3][i % 3 * stride] : a[i]);
      sums[i][0] = L::multiply_add(x, left, sums[i][0]);
      sums[i][1] = L::multiply_add(x, right, sums[i][1]);
    }
    if constexpr (kDeep) {
#pragma GCC unroll 5
      for (const T*& row : third) {
        ++row;
      }
    } else {
      a += stride;
    }
  }
#pragma GCC unroll 14
  for (int64_t i = 0; i < kTileRows; ++i) {
    if (i < tile.rows) {
      finish(tile, i, 0, sums[i][0]);
      finish(tile, i, L::kCount, sums[i][1]);
    }
  }
}

}  // namespace

template <typename T, typename To>
void run_tile(const Panel<T>& a, const T* b, int64_t depth, const Tile<T, To>& tile) {
  if (a.deep) {
    run<true>(a.data, a.stride, b, depth, tile);
  } else {
    run<false>(a.data, a.stride, b, depth, tile);
  }
}

template void run_tile(const Panel<float>&, const float*, int64_t, const Tile<float, float>&);
template void run_tile(const Panel<float>&, const float*, int64_t, const Tile<float, double>&);
template void run_tile(const Panel<double>&, const double*, int64_t, const Tile<double, double>&);

}  // namespace quench::matrix

#endif
