// Multiplies four rows of a with four rows of b at a time along their common axis, which is
// contiguous in both. With AVX-512 VNNI, a is passed as unsigned a + 128, because the instruction
// multiplies unsigned by signed bytes; 128 times the sum of b's row is subtracted again. AVX2
// widens to 16 bits, because its own byte product saturates.
#include "quantizers/int8/product.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "quench/kit/host.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define QUENCH_INT8_X86 1
#include <immintrin.h>
#endif

namespace quench::quantizers {

namespace {

constexpr int64_t kStep = 64;  // bytes
constexpr int64_t kTile = 4;   // rows of a and of b
constexpr uint64_t kRowGrain = 64;

int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

// out[i * 4 + j] = sum over k of a[i][k] b[j][k]; `inner` is a multiple of kStep.
using Tile = void (*)(const int8_t* a, const int8_t* b, int64_t inner, int32_t* out);

void tile_portable(const int8_t* a, const int8_t* b, int64_t inner, int32_t* out) {
  for (int64_t i = 0; i < kTile; ++i) {
    for (int64_t j = 0; j < kTile; ++j) {
      int32_t sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        sum += static_cast<int32_t>(a[i * inner + k]) * b[j * inner + k];
      }
      out[i * kTile + j] = sum;
    }
  }
}

#ifdef QUENCH_INT8_X86
__attribute__((target("avx2"))) int32_t sum_of(__m256i v) {
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
  return _mm_cvtsi128_si32(half);
}

__attribute__((target("avx2"))) __m256i widened(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

__attribute__((target("avx2"))) void tile_avx2(const int8_t* a, const int8_t* b, int64_t inner,
                                               int32_t* out) {
  for (int64_t i = 0; i < kTile; i += 2) {  // two by four tiles fit in sixteen registers
    __m256i sums[2][kTile] = {};
    for (int64_t k = 0; k < inner; k += 16) {
      const __m256i a0 = widened(a + i * inner + k);
      const __m256i a1 = widened(a + (i + 1) * inner + k);
      for (int64_t j = 0; j < kTile; ++j) {
        const __m256i bj = widened(b + j * inner + k);
        sums[0][j] = _mm256_add_epi32(sums[0][j], _mm256_madd_epi16(a0, bj));
        sums[1][j] = _mm256_add_epi32(sums[1][j], _mm256_madd_epi16(a1, bj));
      }
    }
    for (int64_t j = 0; j < kTile; ++j) {
      out[i * kTile + j] = sum_of(sums[0][j]);
      out[(i + 1) * kTile + j] = sum_of(sums[1][j]);
    }
  }
}

// `a` holds a + 128.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void tile_vnni(const int8_t* a,
                                                                      const int8_t* b,
                                                                      int64_t inner, int32_t* out) {
  __m512i sums[kTile][kTile] = {};
  for (int64_t k = 0; k < inner; k += kStep) {
    __m512i bs[kTile];
    for (int64_t j = 0; j < kTile; ++j) {
      bs[j] = _mm512_loadu_si512(b + j * inner + k);
    }
    for (int64_t i = 0; i < kTile; ++i) {
      const __m512i ai = _mm512_loadu_si512(a + i * inner + k);
      for (int64_t j = 0; j < kTile; ++j) {
        sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], ai, bs[j]);
      }
    }
  }
  alignas(kStep) int32_t lanes[kTile * kTile][kStep / 4];
  for (int64_t t = 0; t < kTile * kTile; ++t) {
    _mm512_store_si512(lanes[t], sums[t / kTile][t % kTile]);
  }
  for (int64_t t = 0; t < kTile * kTile; ++t) {
    out[t] = 0;
    for (const int32_t lane : lanes[t]) {
      out[t] += lane;
    }
  }
}
#endif

Tile tile_of(Int8Kernel kernel) {
#ifdef QUENCH_INT8_X86
  if (kernel == Int8Kernel::kAvx512Vnni) {
    return tile_vnni;
  }
  if (kernel == Int8Kernel::kAvx2) {
    return tile_avx2;
  }
#endif
  static_cast<void>(kernel);
  return tile_portable;
}

int8_t* aligned_zeros(int64_t bytes) {
  void* memory = std::aligned_alloc(kStep, static_cast<size_t>(round_up(bytes, kStep)));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  std::memset(memory, 0, static_cast<size_t>(bytes));
  return static_cast<int8_t*>(memory);
}

}  // namespace

void multiply_plain(std::span<const int8_t> a, std::span<const int8_t> b, int64_t inner,
                    const TakeRow& take) {
  const auto width = static_cast<size_t>(inner);
  const size_t columns = b.size() / width;
  std::vector<int32_t> sums(columns);
  for (size_t i = 0; i < a.size() / width; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      sums[j] = 0;
      for (size_t k = 0; k < width; ++k) {
        sums[j] += static_cast<int32_t>(a[i * width + k]) * b[j * width + k];
      }
    }
    take(static_cast<int64_t>(i), sums);
  }
}

std::span<const Int8Kernel> int8_kernels() {
  static const std::vector<Int8Kernel> kKernels = [] {
    std::vector<Int8Kernel> found = {Int8Kernel::kPortable};
#ifdef QUENCH_INT8_X86
    if (__builtin_cpu_supports("avx2") != 0) {
      found.push_back(Int8Kernel::kAvx2);
    }
    if (__builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vnni") != 0) {
      found.push_back(Int8Kernel::kAvx512Vnni);
    }
#endif
    return found;
  }();
  return kKernels;
}

Int8Kernel chosen_int8_kernel() {
  const int32_t most = kit::instructions();
  Int8Kernel chosen = Int8Kernel::kPortable;
  for (const Int8Kernel kernel : int8_kernels()) {
    const int32_t needed = kernel == Int8Kernel::kAvx512Vnni ? QUENCH_INSTRUCTIONS_AVX512
                           : kernel == Int8Kernel::kAvx2     ? QUENCH_INSTRUCTIONS_AVX2
                                                             : QUENCH_INSTRUCTIONS_PORTABLE;
    chosen = needed <= most ? kernel : chosen;
  }
  return chosen;
}

void Int8Matrix::Free::operator()(int8_t* memory) const {
  std::free(memory);
}

Int8Matrix::Int8Matrix(std::span<const int8_t> b, int64_t columns, int64_t inner)
    : Int8Matrix(b, columns, inner, chosen_int8_kernel()) {}

Int8Matrix::Int8Matrix(std::span<const int8_t> b, int64_t columns, int64_t inner, Int8Kernel kernel)
    : columns_(columns),
      inner_(inner),
      padded_(round_up(inner, kStep)),
      kernel_(kernel),
      packed_(aligned_zeros(round_up(columns, kTile) * padded_)),
      offsets_(static_cast<size_t>(columns)) {
  kit::expects(inner <= kMostInt8Columns, "int8: too many input columns for int32 sums");
  for (int64_t j = 0; j < columns; ++j) {
    const auto row = b.subspan(static_cast<size_t>(j * inner), static_cast<size_t>(inner));
    std::copy(row.begin(), row.end(), packed_.get() + j * padded_);
    int32_t sum = 0;
    for (const int8_t value : row) {
      sum += value;
    }
    offsets_[static_cast<size_t>(j)] = kernel == Int8Kernel::kAvx512Vnni ? 128 * sum : 0;
  }
}

void Int8Matrix::multiply(std::span<const int8_t> a, const TakeRow& take) const {
  const int64_t rows = static_cast<int64_t>(a.size()) / inner_;
  const Tile tile = tile_of(kernel_);
  // Flipping the sign bit gives a + 128 as an unsigned byte.
  const uint8_t turn = kernel_ == Int8Kernel::kAvx512Vnni ? 0x80 : 0;
  kit::parallel_for(static_cast<uint64_t>(rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
    const auto first = static_cast<int64_t>(begin);
    const int64_t count = static_cast<int64_t>(end) - first;
    const int64_t tiles = round_up(count, kTile) / kTile;
    const std::unique_ptr<int8_t, Free> panel(aligned_zeros(tiles * kTile * padded_));
    for (int64_t i = 0; i < count; ++i) {
      const int8_t* from = a.data() + (first + i) * inner_;
      int8_t* to = panel.get() + i * padded_;
      for (int64_t k = 0; k < inner_; ++k) {
        to[k] = static_cast<int8_t>(static_cast<uint8_t>(from[k]) ^ turn);
      }
    }
    std::vector<int32_t> sums(static_cast<size_t>(tiles * kTile * columns_));
    for (int64_t j = 0; j < columns_; j += kTile) {
      const int64_t last = std::min(j + kTile, columns_);
      for (int64_t t = 0; t < tiles; ++t) {
        int32_t out[kTile * kTile];
        tile(panel.get() + t * kTile * padded_, packed_.get() + j * padded_, padded_, out);
        for (int64_t i = 0; i < kTile; ++i) {
          for (int64_t c = j; c < last; ++c) {
            sums[static_cast<size_t>((t * kTile + i) * columns_ + c)] =
                out[i * kTile + (c - j)] - offsets_[static_cast<size_t>(c)];
          }
        }
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      take(first + i, {sums.data() + i * columns_, static_cast<size_t>(columns_)});
    }
  });
}

}  // namespace quench::quantizers
