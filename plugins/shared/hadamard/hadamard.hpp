// Hadamard matrices: H [n, n] of 1 and -1 with H H' = n I. A power of two has Sylvester's, the size
// n = c 2^k the Kronecker product of one of size c by Paley (1933) and Sylvester's of size 2^k:
//
//   I:  c = q + 1,     q = 3 mod 4 a power of a prime: 12, 20, 28, 44, 60, 84, 108, 140, 344, ...
//   II: c = 2 (q + 1), q = 1 mod 4:                    36, 52, 76, 148, ...
//
// Sizes that neither reaches, such as 92 and 172, are refused; 368 and 344 are not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench::hadamard {

// Multiplies the row vector values [size], a power of two, by Sylvester's matrix of that size.
void multiply_sylvester(double* values, int64_t size);

class Hadamard {
 public:
  // Throws UNSUPPORTED if none is known here.
  explicit Hadamard(int64_t size);

  int64_t size() const { return core_ * run_; }
  int64_t core() const { return core_; }  // c
  // [c, c] in C order; empty where c is 1.
  const std::vector<int8_t>& core_entries() const { return core_entries_; }
  // "64", or "12 x 8" for c = 12.
  std::string text() const;
  int entry(int64_t row, int64_t column) const;

  // Replaces the row vector values [n] by values H / sqrt(n), in about n (c + k) additions.
  // `scratch` [n] is overwritten.
  void apply(double* values, double* scratch) const { multiply(values, scratch, false); }
  // Likewise by values H' / sqrt(n), which undoes it.
  void undo(double* values, double* scratch) const { multiply(values, scratch, true); }

 private:
  void multiply(double* values, double* scratch, bool transposed) const;

  int64_t core_ = 1;                  // c
  int64_t run_ = 1;                   // 2^k
  std::vector<int8_t> core_entries_;  // [c, c]
};

}  // namespace quench::hadamard
