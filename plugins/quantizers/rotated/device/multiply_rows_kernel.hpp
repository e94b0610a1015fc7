// Rows times a Hadamard matrix H / sqrt(n), as a kernel: a block of threads takes a row. Each value
// is a sum of the same pairs in the same order as that of hadamard::RandomHadamard::multiply() and
// hadamard::Hadamard, so the bits are theirs.
#pragma once

#include <cmath>
#include <cstdint>

#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// In place, of rows [rows, core * 2^run_bits] in C order; n is below 2^31.
template <typename T>
struct MultiplyRows {
  static constexpr int kThreads = 256;

  T* values;
  int64_t rows;
  int32_t core;
  int32_t run_bits;
  const int8_t* core_entries;  // [core, core]; not read where core is 1
  const double* signs;         // [n], of D in D H, or of H' D where it is transposed; or null
  bool transposed;
  double root;       // sqrt(n)
  double* held;      // [rows, 2 or, where core is 1, 1, n]
  int32_t* refused;  // becomes 1 if a value is not finite, before or after

  int64_t blocks() const { return rows; }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    const int32_t n = core << run_bits;
    T* row = values + block.index() * n;
    double* own = held + block.index() * n * (core > 1 ? 2 : 1);
    block.each([&](int thread) {
      for (int32_t i = thread; i < n; i += kThreads) {
        const auto value = static_cast<double>(row[i]);
        if (!std::isfinite(value)) {
          *refused = 1;
        }
        own[i] = signs != nullptr && !transposed ? signs[i] * value : value;
      }
    });
    for (int32_t bit = 0; bit < run_bits; ++bit) {
      const int32_t half = 1 << bit;
      block.each([&](int thread) {
        for (int32_t pair = thread; pair < n / 2; pair += kThreads) {
          const int32_t i = (pair >> bit << (bit + 1)) + (pair & (half - 1));
          const double a = own[i];
          const double b = own[i + half];
          own[i] = a + b;
          own[i + half] = a - b;
        }
      });
    }
    const double* made = core > 1 ? own + n : own;
    if (core > 1) {
      block.each([&](int thread) {
        for (int32_t i = thread; i < n; i += kThreads) {
          own[n + i] = sum_over_runs(own, i >> run_bits, i & ((1 << run_bits) - 1));
        }
      });
    }
    block.each([&](int thread) {
      for (int32_t i = thread; i < n; i += kThreads) {
        const double value = made[i] / root;
        if (!std::isfinite(value)) {
          *refused = 1;
        }
        row[i] = static_cast<T>(signs != nullptr && transposed ? signs[i] * value : value);
      }
    });
  }

 private:
  QUENCH_KERNEL double sum_over_runs(const double* own, int32_t j, int32_t place) const {
    double sum = 0;
    for (int32_t i = 0; i < core; ++i) {
      const double sign = core_entries[transposed ? j * core + i : i * core + j];
      sum += sign * own[(i << run_bits) + place];
    }
    return sum;
  }
};

}  // namespace quench::quantizers
