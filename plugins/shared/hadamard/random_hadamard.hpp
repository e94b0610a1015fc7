// The randomized Hadamard matrix R = D H / sqrt(n), where D has random signs: orthogonal, and each
// value of x R is a sum of all values of x with random signs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shared/hadamard/hadamard.hpp"

namespace quench::hadamard {

class RandomHadamard {
 public:
  // `stream` names the stream of random numbers. Throws UNSUPPORTED as Hadamard does.
  RandomHadamard(int64_t size, const std::string& stream);

  int64_t size() const { return hadamard_.size(); }
  const Hadamard& matrix() const { return hadamard_; }
  const std::vector<double>& signs() const { return signs_; }  // the diagonal of D

  // Replaces each of the rows [count, n], in C order, by row R or, with kUndo, row R'. Computed in
  // float64 and rounded once to T, which is float or double.
  enum class Direction { kApply, kUndo };
  template <typename T>
  void multiply(std::span<T> rows, Direction direction) const;

 private:
  Hadamard hadamard_;
  std::vector<double> signs_;  // [n]
};

}  // namespace quench::hadamard
