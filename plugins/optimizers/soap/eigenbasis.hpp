// The eigenbasis of one side of a matrix's gradients, which SOAP lets Adam run in.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace quench::optimizers {

// Float32 matrices [size, size] of the state: the running mean P of GGᵀ (left) or GᵀG (right), and
// Q, whose columns are its eigenvectors.
struct Eigenbasis {
  int64_t size = 0;
  std::span<float> moments;
  std::span<float> basis;
  bool used() const { return size > 0; }
  at::Tensor q() const;

  // P ← βP + (1 − β)·gradient·gradientᵀ
  void observe(const at::Tensor& gradient, double beta) const;
  // Q ← the eigenvectors of P, those of its largest eigenvalues first.
  void begin() const;
  // Q ← the orthogonal factor of P·Q, after a sort of Q's columns by their qᵀPq, largest first.
  // Returns that order: what was column order[j] is column j now.
  std::vector<int64_t> refresh() const;
};

}  // namespace quench::optimizers
