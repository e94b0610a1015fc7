// Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008: panels of both
// operands are copied so that a small kernel reads them in order, and its sums stay in registers.
#include "models/decoder/product.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <vector>

#include "quench/kit/host.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define QUENCH_HAS_KERNEL 1
#endif

namespace quench::decoder {

namespace {

#ifdef QUENCH_HAS_KERNEL

constexpr int64_t kTileRows =
    14;  // × 2 vectors of sums, beside 2 of b and 1 of a: 31 of 32 registers
constexpr int64_t kTileColumns = 32;
constexpr int64_t kDepth = 256;  // of a panel: a tile's columns of b are 32 KiB
constexpr int64_t kTaskRows = 8 * kTileRows;
constexpr int64_t kManyColumns = 512;     // of b: a copy of a pays
constexpr int64_t kPackedB = 1 << 20;     // elements of b that are copied at a time
constexpr int64_t kWorthwhile = 1 << 15;  // products of fewer multiplications stay with libtorch

// One operand: element (i, k) lies at i·along + k·deep.
struct Operand {
  const float* data;
  int64_t along;
  int64_t deep;
};

// Copies `count` × depth elements into panels of `width`, each [depth, width], filled up with
// zeros.
void pack(const Operand& from, int64_t count, int64_t depth, int64_t width, float* to) {
  for (int64_t first = 0; first < count; first += width, to += width * depth) {
    const int64_t n = std::min(width, count - first);
    const float* start = from.data + first * from.along;
    for (int64_t k = 0; k < depth; ++k) {
      float* row = to + k * width;
      for (int64_t i = 0; i < n; ++i) {
        row[i] = start[i * from.along + k * from.deep];
      }
      std::fill(row + n, row + width, 0.0F);
    }
  }
}

// One tile of the result: rows × columns of a panel of a and one of b.
struct Tile {
  float* to;
  int64_t stride;
  int64_t rows;
  int64_t columns;
  bool add;
};

__attribute__((target("avx512f"))) __mmask16 first_lanes(int64_t count) {
  return count >= 16 ? 0xFFFF : static_cast<__mmask16>((1U << std::max<int64_t>(0, count)) - 1);
}

// The tile's rows of a begin at `a`. kDeep: they lie `stride` apart, each with its depth in a row;
// else the rows of one k are neighbours, and k's lie `stride` apart.
template <bool kDeep>
__attribute__((target("avx512f"))) void multiply(const float* __restrict a, int64_t stride,
                                                 const float* __restrict b, int64_t depth,
                                                 const Tile& tile) {
  __m512 sums[kTileRows][2];
#pragma GCC unroll 14
  for (auto& sum : sums) {
    sum[0] = _mm512_setzero_ps();
    sum[1] = _mm512_setzero_ps();
  }
  // Every third row: with the strides 1 and 2 that addresses can hold, few registers reach all.
  const float* third[] = {a, a + 3 * stride, a + 6 * stride, a + 9 * stride, a + 12 * stride};
  for (int64_t k = 0; k < depth; ++k, b += kTileColumns) {
    const __m512 left = _mm512_loadu_ps(b);
    const __m512 right = _mm512_loadu_ps(b + 16);
#pragma GCC unroll 14
    for (int64_t i = 0; i < kTileRows; ++i) {
      const __m512 x = _mm512_set1_ps(kDeep ? third[i / 3][i % 3 * stride] : a[i]);
      sums[i][0] = _mm512_fmadd_ps(x, left, sums[i][0]);
      sums[i][1] = _mm512_fmadd_ps(x, right, sums[i][1]);
    }
    if constexpr (kDeep) {
#pragma GCC unroll 5
      for (const float*& row : third) {
        ++row;
      }
    } else {
      a += stride;
    }
  }
  const __mmask16 lanes[] = {first_lanes(tile.columns), first_lanes(tile.columns - 16)};
#pragma GCC unroll 14
  for (int64_t i = 0; i < kTileRows; ++i) {
    if (i < tile.rows) {
      for (int64_t half = 0; half < 2; ++half) {
        float* to = tile.to + i * tile.stride + 16 * half;
        __m512 value = sums[i][half];
        if (tile.add) {
          value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(lanes[half], to));
        }
        _mm512_mask_storeu_ps(to, lanes[half], value);
      }
    }
  }
}

struct Sizes {
  int64_t rows;
  int64_t columns;
  int64_t depth;
};

// A tile of rows of a, where it lies or copied.
struct Panel {
  const float* data;
  int64_t stride;
  bool deep;
};

void multiply(const Panel& a, const float* b, int64_t depth, const Tile& tile) {
  if (a.deep) {
    multiply<true>(a.data, a.stride, b, depth, tile);
  } else {
    multiply<false>(a.data, a.stride, b, depth, tile);
  }
}

// Rows first..first+count of the result, against columns of b that are packed in panels of all of
// the depth, one run of kDepth after the other. Rows of a are read where they lie; where many
// columns use them, and where a tile is not full, from a copy.
void multiply_rows(const Operand& a, const std::vector<float>& packed_b, const Sizes& sizes,
                   int64_t first, int64_t count, float* to, int64_t stride, bool add) {
  const int64_t panels = (sizes.columns + kTileColumns - 1) / kTileColumns;
  const bool copies = sizes.columns >= kManyColumns;
  const int64_t copied_from = copies ? 0 : count / kTileRows * kTileRows;
  std::vector<float> copied(
      static_cast<size_t>((count - copied_from + kTileRows - 1) / kTileRows * kTileRows * kDepth));
  for (int64_t k = 0; k < sizes.depth; k += kDepth) {
    const int64_t depth = std::min(kDepth, sizes.depth - k);
    const Operand here = {a.data + first * a.along + k * a.deep, a.along, a.deep};
    pack({here.data + copied_from * a.along, a.along, a.deep}, count - copied_from, depth,
         kTileRows, copied.data());
    const float* b = packed_b.data() + panels * kTileColumns * k;
    for (int64_t j = 0; j < panels; ++j) {
      for (int64_t i = 0; i < count; i += kTileRows) {
        const Panel panel = i >= copied_from
                                ? Panel{copied.data() + (i - copied_from) * depth, kTileRows, false}
                            : a.deep == 1 ? Panel{here.data + i * a.along, a.along, true}
                                          : Panel{here.data + i * a.along, a.deep, false};
        multiply(
            panel, b + j * kTileColumns * depth, depth,
            {to + (first + i) * stride + j * kTileColumns, stride, std::min(kTileRows, count - i),
             std::min(kTileColumns, sizes.columns - j * kTileColumns), add || k > 0});
      }
    }
  }
}

// to [rows, columns] (+)= a · b, columns of b at a time.
void multiply_all(const Operand& a, const Operand& b, const Sizes& sizes, float* to, bool add) {
  const int64_t at_once =
      std::max<int64_t>(1, kPackedB / sizes.depth / kTileColumns) * kTileColumns;
  std::vector<float> packed;
  for (int64_t column = 0; column < sizes.columns; column += at_once) {
    const Sizes part = {sizes.rows, std::min(at_once, sizes.columns - column), sizes.depth};
    const int64_t panels = (part.columns + kTileColumns - 1) / kTileColumns;
    packed.resize(static_cast<size_t>(panels * kTileColumns * part.depth));
    const int64_t runs = (part.depth + kDepth - 1) / kDepth;
    kit::parallel_for(static_cast<uint64_t>(runs), 1, [&](uint64_t run, uint64_t) {
      const int64_t k = static_cast<int64_t>(run) * kDepth;
      pack({b.data + column * b.along + k * b.deep, b.along, b.deep}, part.columns,
           std::min(kDepth, part.depth - k), kTileColumns,
           packed.data() + panels * kTileColumns * k);
    });
    // Few rows are dealt out in smaller pieces; no element depends on the pieces.
    const int64_t tiles = (part.rows + kTileRows - 1) / kTileRows;
    const int64_t rows = std::min(kTaskRows, std::max<int64_t>(1, tiles / 8) * kTileRows);
    kit::parallel_for(static_cast<uint64_t>(part.rows), static_cast<uint64_t>(rows),
                      [&](uint64_t begin, uint64_t end) {
                        multiply_rows(a, packed, part, static_cast<int64_t>(begin),
                                      static_cast<int64_t>(end - begin), to + column, sizes.columns,
                                      add);
                      });
  }
}

bool has_processor() {
  static const bool kHas = __builtin_cpu_is("amd") != 0 && __builtin_cpu_supports("avx512f") != 0;
  return kHas;
}

void run_kernel(const at::Tensor& a, const at::Tensor& b, at::Tensor& to, bool add) {
  multiply_all({a.const_data_ptr<float>(), a.stride(0), a.stride(1)},
               {b.const_data_ptr<float>(), b.stride(1), b.stride(0)},
               {a.size(0), b.size(1), a.size(1)}, to.mutable_data_ptr<float>(), add);
}

#else

constexpr int64_t kWorthwhile = 0;
bool has_processor() {
  return false;
}
void run_kernel(const at::Tensor&, const at::Tensor&, at::Tensor&, bool) {}

#endif

bool is_plain(const at::Tensor& matrix) {
  return matrix.is_cpu() && matrix.scalar_type() == at::kFloat &&
         (matrix.stride(0) == 1 || matrix.stride(1) == 1);
}

}  // namespace

bool has_kernel_for(const at::Tensor& a, const at::Tensor& b) {
  return has_processor() && is_plain(a) && is_plain(b) &&
         a.size(0) * a.size(1) * b.size(1) >= kWorthwhile;
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  if (!has_kernel_for(a, b)) {
    return at::mm(a, b);
  }
  at::Tensor to = at::empty({a.size(0), b.size(1)}, a.options());
  run_kernel(a, b, to, false);
  return to;
}

void add_product_to(at::Tensor to, const at::Tensor& a, const at::Tensor& b) {
  if (has_kernel_for(a, b) && is_plain(to) && to.is_contiguous()) {
    run_kernel(a, b, to, true);
  } else {
    to.addmm_(a, b);
  }
}

}  // namespace quench::decoder
