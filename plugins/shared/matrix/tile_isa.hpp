// The part of tile.cpp that is compiled per instruction set.
namespace quench::matrix::QUENCH_ISA_NAMESPACE {

inline constexpr int kTileRows = QUENCH_ISA_BYTES == 64 ? 14 : 6;

// With AVX-512 a panel of b fills the first-level cache, so its lines come from the second one each
// time: they are asked for eight values of k ahead. Narrower panels stay, and their loops have no
// instruction to spare.
inline constexpr bool kPrefetches = QUENCH_ISA_BYTES == 64;
inline constexpr int64_t kAheadOfTile = 16;  // vectors

#ifdef QUENCH_ISA_HAS_PAIRS
// Pairs in the lanes of sums.
template <>
struct Simd<Bfloat16Pair> {
  using Vector = Simd<float>::Vector;
  static constexpr int64_t kCount = Simd<float>::kCount;

  QUENCH_INLINE static Vector zero() { return Vector{}; }
  QUENCH_INLINE static Vector same(Bfloat16Pair x) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int32_t>(x.bits)));
  }
  QUENCH_INLINE static Vector load(const Bfloat16Pair* from) { return _mm512_loadu_ps(from); }
  QUENCH_INLINE static Vector multiply_add(Vector x, Vector y, Vector z) {
    return _mm512_dpbf16_ps(z, (__m512bh)x, (__m512bh)y);
  }
};
#endif

// to[0..lanes) = (add ? to : bias or 0) + factor * sum
template <typename T>
QUENCH_INLINE void finish(const Tile<T, T>& tile, int64_t i, int64_t j,
                          typename Simd<T>::Vector sum) {
  using L = Simd<T>;
  const int64_t count = tile.columns - j;
  T* to = tile.to + i * tile.stride + j;
  const auto before = tile.add               ? L::load(to, count)
                      : tile.bias != nullptr ? L::load(tile.bias + j, count)
                                             : L::zero();
  L::store(to, count, L::multiply_add(L::same(static_cast<T>(tile.factor)), sum, before));
}

QUENCH_INLINE void finish(const Tile<float, double>& tile, int64_t i, int64_t j,
                          Simd<float>::Vector sum) {
  using L = Simd<double>;
  float sums[2 * L::kCount];
  Simd<float>::store(sums, sum);
  for (int half = 0; half < 2; ++half) {
    const int64_t count = tile.columns - j - half * L::kCount;
    double* to = tile.to + i * tile.stride + j + half * L::kCount;
    const auto before = tile.add ? L::load(to, count) : L::zero();
    L::store(
        to, count,
        L::multiply_add(L::same(tile.factor), L::load(sums + half * L::kCount, L::kCount), before));
  }
}

// The same for all sums of a tile that has every row and column. Without a count to check, the sums
// go from the registers to their places.
template <int kRows, typename T>
QUENCH_INLINE void finish_full(const Tile<T, T>& tile,
                               const typename Simd<T>::Vector (&sums)[kRows][2]) {
  using L = Simd<T>;
  const auto factor = L::same(static_cast<T>(tile.factor));
  T* to = tile.to;
  if (tile.add) {
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i, to += tile.stride) {
      L::store(to, L::multiply_add(factor, sums[i][0], L::load(to)));
      L::store(to + L::kCount, L::multiply_add(factor, sums[i][1], L::load(to + L::kCount)));
    }
    return;
  }
  const auto left = tile.bias != nullptr ? L::load(tile.bias) : L::zero();
  const auto right = tile.bias != nullptr ? L::load(tile.bias + L::kCount) : L::zero();
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i, to += tile.stride) {
    L::store(to, L::multiply_add(factor, sums[i][0], left));
    L::store(to + L::kCount, L::multiply_add(factor, sums[i][1], right));
  }
}

// `a` points to the tile's rows of a. kContiguous: the values of one row are contiguous, and rows
// lie `stride` apart. Otherwise the rows of one k are contiguous, and values of k lie `stride`
// apart.
template <bool kContiguous, int kRows, typename T, typename To>
void run_rows(const T* __restrict a, int64_t stride, const T* __restrict b, int64_t depth,
              const Tile<Sum<T>, To>& tile) {
  using L = Simd<T>;
  for (int64_t i = 0; tile.add && i < tile.rows; ++i) {
    for (int64_t line = 0; line < tile.columns * static_cast<int64_t>(sizeof(To)); line += 64) {
      __builtin_prefetch(reinterpret_cast<const char*>(tile.to + i * tile.stride) + line, 1);
    }
  }
  typename L::Vector sums[kRows][2];
#pragma GCC unroll 14
  for (auto& sum : sums) {
    sum[0] = L::zero();
    sum[1] = L::zero();
  }
  // Pointers to every third row: with the address scales 1 and 2, few registers then reach all
  // rows.
  constexpr int kThirds = (kRows + 2) / 3;
  const T* third[kThirds];
#pragma GCC unroll 5
  for (int i = 0; i < kThirds; ++i) {
    third[i] = a + 3 * i * stride;
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < depth; ++k, b += 2 * L::kCount) {
    if constexpr (kPrefetches) {
      __builtin_prefetch(b + kAheadOfTile * L::kCount);
      __builtin_prefetch(b + (kAheadOfTile + 1) * L::kCount);
    }
    const auto left = L::load(b);
    const auto right = L::load(b + L::kCount);
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i) {
      const auto x = L::same(kContiguous ? third[i / 3][i % 3 * stride] : a[i]);
      sums[i][0] = L::multiply_add(x, left, sums[i][0]);
      sums[i][1] = L::multiply_add(x, right, sums[i][1]);
    }
    if constexpr (kContiguous) {
#pragma GCC unroll 5
      for (const T*& row : third) {
        ++row;
      }
    } else {
      a += stride;
    }
  }
  if constexpr (sizeof(T) == sizeof(To)) {
    if (tile.rows == kRows && tile.columns == 2 * L::kCount) {
      return finish_full(tile, sums);
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i) {
    if (i < tile.rows) {
      finish(tile, i, 0, sums[i][0]);
      finish(tile, i, L::kCount, sums[i][1]);
    }
  }
}

template <bool kContiguous, typename T, typename To>
void run_tile_rows(const Panel<T>& a, const T* b, int64_t depth, const Tile<Sum<T>, To>& tile) {
  if (tile.rows <= 1) {
    return run_rows<kContiguous, 1>(a.data, a.stride, b, depth, tile);
  }
  if (tile.rows <= 2) {
    return run_rows<kContiguous, 2>(a.data, a.stride, b, depth, tile);
  }
  if (tile.rows <= 4) {
    return run_rows<kContiguous, 4>(a.data, a.stride, b, depth, tile);
  }
  if (tile.rows <= 8 && kTileRows > 8) {
    return run_rows<kContiguous, (kTileRows < 8 ? kTileRows : 8)>(a.data, a.stride, b, depth, tile);
  }
  run_rows<kContiguous, kTileRows>(a.data, a.stride, b, depth, tile);
}

template <typename T, typename To>
void run(const Panel<T>& a, const T* b, int64_t depth, const Tile<Sum<T>, To>& tile) {
  if (a.k_contiguous) {
    run_tile_rows<true>(a, b, depth, tile);
  } else {
    run_tile_rows<false>(a, b, depth, tile);
  }
}

}  // namespace quench::matrix::QUENCH_ISA_NAMESPACE
