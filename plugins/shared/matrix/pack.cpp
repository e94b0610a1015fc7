#include "shared/matrix/kernel.hpp"

#ifdef QUENCH_HAS_MATRIX_KERNELS

#include "shared/matrix/lanes.hpp"

namespace quench::matrix {

namespace {

constexpr int64_t kAhead = 12;  // rows, each on a page of its own, that memory is asked for early

// Panels whose elements of one k are neighbours: rows of memory are read from end to end.
template <typename From, typename T>
QUENCH_AVX512 void copy_rows(const From* from, int64_t deep, int64_t count, int64_t depth,
                             int64_t width, T* to) {
  using L = Lanes<T>;
  for (int64_t k = 0; k < depth; ++k, from += deep) {
    for (int64_t i = 0; i < count; i += 64 / static_cast<int64_t>(sizeof(From))) {
      __builtin_prefetch(from + kAhead * deep + i);
    }
    T* row = to + k * width;
    for (int64_t first = 0; first < count; first += width, row += width * depth) {
      const int64_t inside = std::min(width, count - first);
      for (int64_t i = 0; i < width; i += L::kCount) {
        L::store(row + i, L::first(width - i), L::load(L::first(inside - i), from + first + i));
      }
    }
  }
}

// One panel whose elements of one k lie `along` apart, and those of one row are neighbours.
template <typename From, typename T>
QUENCH_AVX512 void copy_turned(const From* from, int64_t along, int64_t count, int64_t depth,
                               int64_t width, T* to) {
  using L = Lanes<T>;
  for (int64_t first = 0; first < width; first += L::kCount) {
    const int64_t rows = std::clamp<int64_t>(count - first, 0, L::kCount);
    const auto written = L::first(width - first);
    const From* source = from + first * along;
    for (int64_t k = 0; k < depth; k += L::kCount) {
      typename L::Vector block[L::kCount];
      const auto read = L::first(depth - k);
      for (int64_t i = 0; i < L::kCount; ++i) {
        block[i] = i < rows ? L::load(read, source + i * along + k) : L::zero();
      }
      transpose(block);
      const int64_t deep = std::min(L::kCount, depth - k);
      for (int64_t i = 0; i < deep; ++i) {
        L::store(to + (k + i) * width + first, written, block[i]);
      }
    }
  }
}

}  // namespace

template <typename From, typename T>
void pack(const Operand<From>& from, int64_t count, int64_t depth, int64_t width, T* to) {
  if (from.along == 1) {
    copy_rows(from.data, from.deep, count, depth, width, to);
    return;
  }
  for (int64_t first = 0; first < count; first += width, to += width * depth) {
    copy_turned(from.data + first * from.along, from.along, std::min(width, count - first), depth,
                width, to);
  }
}

template void pack(const Operand<float>&, int64_t, int64_t, int64_t, float*);
template void pack(const Operand<double>&, int64_t, int64_t, int64_t, double*);
template void pack(const Operand<float>&, int64_t, int64_t, int64_t, double*);

}  // namespace quench::matrix

#endif
