#include "models/decoder/causal_softmax.hpp"

#include <algorithm>

#include "models/decoder/softmax_kernels.hpp"

#define QUENCH_ISA_FILE "models/decoder/causal_softmax_isa.hpp"
#include "shared/matrix/each_isa.hpp"

namespace quench::decoder {

using matrix::Isa;

template <>
void causal_softmax(Isa isa, const ScoreRows<float>& scores, float* kept) {
  const auto& [data, stride, count, first] = scores;
#ifdef QUENCH_X86_KERNELS
  if (isa == Isa::kAvx512) {
    return avx512::causal_softmax(data, stride, count, first, kept);
  }
  if (isa == Isa::kAvx2) {
    return avx2::causal_softmax(data, stride, count, first, kept);
  }
#endif
  portable::causal_softmax(data, stride, count, first, kept);
}

template <>
void causal_softmax_backward(Isa isa, const ScoreRows<float>& scores, float* errors,
                             const float* kept) {
  const auto& [data, stride, count, first] = scores;
#ifdef QUENCH_X86_KERNELS
  if (isa == Isa::kAvx512) {
    return avx512::causal_softmax_backward(data, errors, stride, count, first, kept);
  }
  if (isa == Isa::kAvx2) {
    return avx2::causal_softmax_backward(data, errors, stride, count, first, kept);
  }
#endif
  portable::causal_softmax_backward(data, errors, stride, count, first, kept);
}

// e^x of float64 is the C library's, one element after the other.
template <>
void causal_softmax(Isa, const ScoreRows<double>& scores, double* kept) {
  for (int64_t i = 0; i < scores.count; ++i) {
    double* row = scores.data + i * scores.stride;
    const auto before = static_cast<size_t>(scores.first + i + 1);
    const double peak = kernel::largest(row, before);
    const double inverse = 1.0 / kernel::exponentiate(row, peak, before);
    kernel::scale(row, inverse, before);
    std::fill_n(row + before, kBehind, 0.0);
    kept[2 * i] = peak;
    kept[2 * i + 1] = inverse;
  }
}

template <>
void causal_softmax_backward(Isa, const ScoreRows<double>& scores, double* errors,
                             const double* kept) {
  for (int64_t i = 0; i < scores.count; ++i) {
    double* row = scores.data + i * scores.stride;
    double* error = errors + i * scores.stride;
    const auto before = static_cast<size_t>(scores.first + i + 1);
    kernel::exponentiate(row, kept[2 * i], before);
    kernel::scale(row, kept[2 * i + 1], before);
    kernel::center(row, error, error, before);
    std::fill_n(row + before, kBehind, 0.0);
    std::fill_n(error + before, kBehind, 0.0);
  }
}

}  // namespace quench::decoder
