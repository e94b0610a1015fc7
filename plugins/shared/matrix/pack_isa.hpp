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

}  // namespace quench::matrix::QUENCH_ISA_NAMESPACE
