// Rounding of scaled weights with the kernels, where the weight is: on a GPU as kernels.so has
// them, in host memory as loops. Results are those of rounding.hpp to the bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "quantizers/awq/rounding.hpp"

namespace quench::quantizers {

// A weight under one channel scale, which is copied to the weight's memory once.
class RoundingByKernel {
 public:
  RoundingByKernel(const ScaledWeight& weight, std::span<const double> scale);

  // w - value for rows [first, first + count), float32 [count, columns], where the weight is.
  at::Tensor errors(const Limits& limits, int64_t first, int64_t count) const;
  // The same with all groups clipped to `part` of their largest magnitude.
  at::Tensor clipped_errors(double part, int64_t first, int64_t count) const;
  // The largest |w * s| of each row and group, float64 [rows, groups], where the weight is.
  at::Tensor magnitudes() const;
  // Codes, scales and zeros, where the weight is.
  CodedThere code(const Limits& limits) const;

 private:
  // What one run of the kernel reads and writes beside the weight; undefined: not.
  struct Run {
    int64_t first;
    int64_t count;
    double part = 0;
    at::Tensor limits = {};
    at::Tensor errors = {};
    at::Tensor codes = {};
    at::Tensor scales = {};
    at::Tensor zeros = {};
    at::Tensor magnitudes = {};
  };
  template <typename T, typename Numbers>
  void run_as(const Run& run, const Numbers& numbers, const char* entry) const;
  template <typename Numbers>
  void run_to(const Run& run, const Numbers& numbers, const char* of_float,
              const char* of_double) const;
  void run(const Run& run) const;
  // The limits of rows [first, first + count), where the weight is; undefined if there are none.
  at::Tensor limits_of(const Limits& limits, int64_t first, int64_t count) const;
  at::Tensor made(int64_t rows, int64_t columns, at::ScalarType type) const;

  ScaledWeight weight_;
  at::Tensor scale_;
  double tensor_scale_;  // of a number format that has one
};

// Adds w_r |x_rc| to sums[c], where w_r is the square of roots[r], or 1 if there are none. `rows`
// [N, in], float32 or float64, C order; `sums` float64 [in] in the same memory.
void add_magnitudes_by_kernel(const at::Tensor& rows, const std::vector<double>& roots,
                              const at::Tensor& sums);

// What add_relative_magnitudes() does (candidates.hpp); `floor` is added to each largest magnitude.
void add_relative_magnitudes_by_kernel(const ScaledWeight& weight, double floor,
                                       std::span<double> sums);

}  // namespace quench::quantizers
