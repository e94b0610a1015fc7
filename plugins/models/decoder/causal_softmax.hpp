// The softmax of a block's rows of scores in host memory, and its derivative. Several rows are
// worked on at once, because what follows a row's sum waits for it. The steps of a row, their
// roundings and the order of its sums are those of softmax_kernels.hpp, so that AVX-512, AVX2 and
// the portable form give the same bits.
#pragma once

#include <cstdint>

#include "shared/matrix/isa.hpp"

namespace quench::decoder {

// Elements behind a row that are written, so that vectors and tiles need not end with it.
inline constexpr int64_t kBehind = 16;

// `count` rows that lie `stride` apart. Row i has `first` + i + 1 scores and kBehind elements more.
template <typename T>
struct ScoreRows {
  T* data;
  int64_t stride;
  int64_t count;
  int64_t first;
};

// Replaces scores by their softmax, and what is behind them by 0. Of row i, its largest score goes
// to kept[2 i], and one over the sum of e^(score - largest) to kept[2 i + 1].
template <typename T>
void causal_softmax(matrix::Isa isa, const ScoreRows<T>& scores, T* kept);

// Replaces scores by their softmax p, made from what was kept of them, and errors e, which lie as
// the scores do, by p (e - Σ p e); what is behind both by 0.
template <typename T>
void causal_softmax_backward(matrix::Isa isa, const ScoreRows<T>& scores, T* errors, const T* kept);

}  // namespace quench::decoder
