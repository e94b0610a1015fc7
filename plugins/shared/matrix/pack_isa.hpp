// The part of pack.cpp that is compiled per instruction set.
namespace quench::matrix::QUENCH_ISA_NAMESPACE {

inline constexpr int64_t kAhead = 12;  // rows to prefetch ahead, each on its own page

// Packs panels when the elements of one k are contiguous: reads rows of memory from end to end.
template <typename From, typename T>
void copy_rows(const From* from, int64_t k_stride, int64_t count, int64_t depth, int64_t width,
               T* to) {
  using L = Simd<T>;
  for (int64_t k = 0; k < depth; ++k, from += k_stride) {
    for (int64_t i = 0; i < count; i += 64 / static_cast<int64_t>(sizeof(From))) {
      __builtin_prefetch(from + kAhead * k_stride + i);
    }
    T* row = to + k * width;
    for (int64_t first = 0; first < count; first += width, row += width * depth) {
      const int64_t inside = lesser(width, count - first);
      for (int64_t i = 0; i < width; i += L::kCount) {
        L::store(row + i, width - i, L::load(from + first + i, inside - i));
      }
    }
  }
}

// Moves a block of kCount rows and `depth` <= kCount values of k, all of them if kFull. Unrolled,
// so that the rows stay in registers.
template <bool kFull, typename From, typename T>
QUENCH_INLINE void copy_block(const From* from, int64_t row_stride, int64_t depth, int64_t width,
                              T* to) {
  using L = Simd<T>;
  const int64_t held = kFull ? L::kCount : depth;
  typename L::Vector block[L::kCount];
#pragma GCC unroll 16
  for (int64_t i = 0; i < L::kCount; ++i) {
    block[i] = L::load(from + i * row_stride, held);
  }
  transpose(block);
#pragma GCC unroll 16
  for (int64_t i = 0; i < L::kCount; ++i) {
    if (kFull || i < depth) {
      L::store(to + i * width, block[i]);
    }
  }
}

// Packs one panel when rows lie `row_stride` apart and the elements of each row are contiguous.
template <typename From, typename T>
void copy_transposed(const From* from, int64_t row_stride, int64_t count, int64_t depth,
                     int64_t width, T* to) {
  using L = Simd<T>;
  if (width == 1) {
    for (int64_t k = 0; k < depth; k += L::kCount) {
      L::store(to + k, depth - k, L::load(from + k, depth - k));
    }
    return;
  }
  for (int64_t first = 0; first < width; first += L::kCount) {
    const int64_t rows = lesser(count - first, L::kCount);
    const From* source = from + first * row_stride;
    int64_t k = 0;
    if (rows == L::kCount && width - first >= L::kCount) {
      for (; k + L::kCount <= depth; k += L::kCount) {
        copy_block<true>(source + k, row_stride, L::kCount, width, to + k * width + first);
      }
      if (k < depth) {
        copy_block<false>(source + k, row_stride, depth - k, width, to + k * width + first);
      }
      continue;
    }
    for (; k < depth; k += L::kCount) {
      typename L::Vector block[L::kCount];
      for (int64_t i = 0; i < L::kCount; ++i) {
        block[i] = i < rows ? L::load(source + i * row_stride + k, depth - k) : L::zero();
      }
      transpose(block);
      const int64_t kept = lesser(L::kCount, depth - k);
      for (int64_t i = 0; i < kept; ++i) {
        L::store(to + (k + i) * width + first, width - first, block[i]);
      }
    }
  }
}

template <typename From, typename T>
void pack(const Operand<From>& from, int64_t count, int64_t depth, int64_t width, T* to) {
  if (from.row_stride == 1) {
    copy_rows(from.data, from.k_stride, count, depth, width, to);
    return;
  }
  for (int64_t first = 0; first < count; first += width, to += width * depth) {
    copy_transposed(from.data + first * from.row_stride, from.row_stride,
                    lesser(width, count - first), depth, width, to);
  }
}

#if QUENCH_ISA_BYTES == 64
// The first `count` of 32 numbers, and 0 in place of the others.
QUENCH_INLINE __m512i load_numbers(const Bfloat16* from, int64_t count) {
  const uint32_t all = ~uint32_t{0};
  const uint32_t mask = count >= 32 ? all : count <= 0 ? 0 : all >> (32 - count);
  return _mm512_maskz_loadu_epi16(mask, from);
}

QUENCH_INLINE void store_pairs(void* to, int64_t count, __m512 pairs) {
  Simd<float>::store(static_cast<float*>(to), count, pairs);
}

// As copy_rows: two numbers of one row of the operand lie on two rows of memory.
inline void zip_rows(const Operand<Bfloat16Pair>& from, int64_t count, int64_t depth, int64_t width,
                     Bfloat16Pair* to) {
  for (int64_t k = 0; k < depth; ++k) {
    const Bfloat16* low = from.data + 2 * k * from.k_stride;
    const Bfloat16* high = low + from.k_stride;
    const bool has_high = 2 * k + 1 < from.depth;
    for (int64_t i = 0; i < count; i += 32) {
      __builtin_prefetch(low + kAhead * from.k_stride + i);
      __builtin_prefetch(high + kAhead * from.k_stride + i);
    }
    Bfloat16Pair* row = to + k * width;
    for (int64_t first = 0; first < count; first += width, row += width * depth) {
      const int64_t inside = lesser(width, count - first);
      for (int64_t i = 0; i < width; i += 16) {
        const int64_t held = lesser(16, inside - i);
        const __m256i lower = _mm512_castsi512_si256(load_numbers(low + first + i, held));
        const __m256i upper =
            _mm512_castsi512_si256(load_numbers(high + first + i, has_high ? held : 0));
        const __m512i pairs = _mm512_or_si512(_mm512_cvtepu16_epi32(lower),
                                              _mm512_slli_epi32(_mm512_cvtepu16_epi32(upper), 16));
        store_pairs(row + i, width - i, _mm512_castsi512_ps(pairs));
      }
    }
  }
}

// As copy_transposed: the pairs lie in memory as they are wanted.
inline void transpose_pairs(const Operand<Bfloat16Pair>& from, int64_t count, int64_t depth,
                            int64_t width, Bfloat16Pair* to) {
  for (int64_t first = 0; first < width; first += 16) {
    const Bfloat16* source = from.data + first * from.row_stride;
    for (int64_t k = 0; k < depth; k += 16) {
      Simd<float>::Vector block[16];
#pragma GCC unroll 16
      for (int64_t i = 0; i < 16; ++i) {
        const int64_t held = i < count - first ? from.depth - 2 * k : 0;
        block[i] = _mm512_castsi512_ps(load_numbers(source + i * from.row_stride + 2 * k, held));
      }
      transpose(block);
#pragma GCC unroll 16
      for (int64_t i = 0; i < 16; ++i) {
        if (i < depth - k) {
          store_pairs(to + (k + i) * width + first, width - first, block[i]);
        }
      }
    }
  }
}

inline void pack_pairs(const Operand<Bfloat16Pair>& from, int64_t count, int64_t depth,
                       int64_t width, Bfloat16Pair* to) {
  if (from.row_stride == 1) {
    return zip_rows(from, count, depth, width, to);
  }
  for (int64_t first = 0; first < count; first += width, to += width * depth) {
    transpose_pairs({from.data + first * from.row_stride, from.row_stride, 1, from.depth},
                    lesser(width, count - first), depth, width, to);
  }
}
#endif

}  // namespace quench::matrix::QUENCH_ISA_NAMESPACE
