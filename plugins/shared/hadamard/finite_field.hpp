// The squares of a finite field, of which Paley's Hadamard matrices are made.
#pragma once

#include <cstdint>
#include <vector>

namespace quench::hadamard {

// GF(q) for q = p^k with an odd prime p. An element is the number whose k digits to the base p are
// its coefficients modulo an irreducible polynomial.
class FiniteField {
 public:
  // Whether `size` is a power of an odd prime.
  static bool exists(int64_t size);
  // Throws INVALID_ARGUMENT if there is no such field.
  explicit FiniteField(int64_t size);

  int64_t size() const { return static_cast<int64_t>(characters_.size()); }
  int64_t difference(int64_t a, int64_t b) const;
  // 0 of zero, 1 of a square, -1 of any other element.
  int character(int64_t element) const { return characters_[static_cast<size_t>(element)]; }

 private:
  int64_t prime_ = 0;
  size_t degree_ = 0;
  std::vector<int8_t> characters_;  // [q]
};

}  // namespace quench::hadamard
