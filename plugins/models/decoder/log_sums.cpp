#include "models/decoder/log_sums.hpp"

#include <limits>

#include "quench/kit/host.hpp"
#include "shared/matrix/kernel.hpp"
#include "shared/matrix/product.hpp"

#ifdef QUENCH_HAS_MATRIX_KERNELS
#include "models/decoder/exponential.hpp"
#endif

namespace quench::decoder {

#ifdef QUENCH_HAS_MATRIX_KERNELS

namespace {

constexpr uint64_t kRows = 4;  // that a task takes

// The second of the two walks finds the row in the cache.
QUENCH_AVX512 RowSum sum_of_row(const float* row, int64_t count) {
  using L = matrix::Lanes<float>;
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  __m512 peaks[4];
  for (__m512& peak : peaks) {
    peak = _mm512_set1_ps(kLeast);
  }
  int64_t i = 0;
  for (; i + 4 * L::kCount <= count; i += 4 * L::kCount) {
    for (int64_t part = 0; part < 4; ++part) {
      peaks[part] = _mm512_max_ps(peaks[part], _mm512_loadu_ps(row + i + part * L::kCount));
    }
  }
  for (; i < count; i += L::kCount) {
    const auto mask = L::first(count - i);
    peaks[0] = _mm512_mask_max_ps(peaks[0], mask, peaks[0], _mm512_maskz_loadu_ps(mask, row + i));
  }
  const float peak = _mm512_reduce_max_ps(
      _mm512_max_ps(_mm512_max_ps(peaks[0], peaks[1]), _mm512_max_ps(peaks[2], peaks[3])));
  const __m512 at = _mm512_set1_ps(peak);
  __m512d low = _mm512_setzero_pd();
  __m512d high = _mm512_setzero_pd();
  for (i = 0; i < count; i += L::kCount) {
    const auto mask = L::first(count - i);
    const __m512 power = _mm512_maskz_mov_ps(
        mask, exponential(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, row + i), at)));
    low = _mm512_add_pd(low, _mm512_cvtps_pd(_mm512_castps512_ps256(power)));
    high = _mm512_add_pd(
        high,
        _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(power), 1))));
  }
  return {static_cast<double>(peak), _mm512_reduce_add_pd(_mm512_add_pd(low, high))};
}

}  // namespace

bool has_log_sums(const at::Tensor& logits) {
  return matrix::has_processor() && logits.is_cpu() && logits.scalar_type() == at::kFloat &&
         logits.is_contiguous();
}

std::vector<RowSum> log_sums(const at::Tensor& logits) {
  std::vector<RowSum> sums(static_cast<size_t>(logits.size(0)));
  const auto* values = logits.const_data_ptr<float>();
  const int64_t columns = logits.size(1);
  kit::parallel_for(sums.size(), kRows, [&](uint64_t begin, uint64_t end) {
    for (uint64_t row = begin; row < end; ++row) {
      sums[row] = sum_of_row(values + static_cast<int64_t>(row) * columns, columns);
    }
  });
  return sums;
}

#else

bool has_log_sums(const at::Tensor&) {
  return false;
}

std::vector<RowSum> log_sums(const at::Tensor&) {
  return {};
}

#endif

}  // namespace quench::decoder
