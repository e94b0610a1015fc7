// Exponentials of rows in host memory, in float32 or float64, for softmax and its sums. AVX-512 and
// AVX2 give the same bits: there are 16 partial sums for any vector width.
#pragma once

#include <cstdint>
#include <limits>

#include "shared/matrix/isa.hpp"

namespace quench::decoder {

// For a row: log Σ e^x is peak + log(sum).
struct RowSum {
  double peak;
  double sum;  // of e^(x - peak)
};

// Sums in float64.
template <typename T>
RowSum sum_exponentials(matrix::Isa isa, const T* row, int64_t count);

// A running softmax over the scores so far.
template <typename T>
struct RunningRow {
  T peak = -std::numeric_limits<T>::infinity();
  double sum = 0;  // of e^(score - peak)
};

// Replaces the first `count` of `size` scores (`size` is a multiple of 16) by e^(score - peak) and
// the others by 0. Rescales the row's sum and its `output` [width] to the new peak.
template <typename T>
void exponentiate(matrix::Isa isa, T* scores, int64_t count, int64_t size, RunningRow<T>& row,
                  T* output, int64_t width);

// to = from / by
template <typename T>
void divide(matrix::Isa isa, const T* from, T by, int64_t count, T* to);

}  // namespace quench::decoder
