// Rounds rows of inputs in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quantizers/inputs/format.hpp"
#include "quantizers/inputs/statistics.hpp"

namespace quench::quantizers {

class InputRounding {
 public:
  // `statistics` may be null where settings take nothing from rows; they are of the inputs before
  // they are divided by `scale` [columns], which is empty if none divides them. A range that
  // settings want from rows, of which there were none, is that of the values (`fallback`). Throws
  // INVALID_ARGUMENT with the linear's name if groups or blocks do not divide the columns.
  InputRounding(const ActivationSettings& settings, int64_t columns,
                const InputStatistics* statistics, std::span<const double> scale,
                const std::string& linear);

  // `rows` [n, columns] float32 or float64 in host memory, C order. A value is computed in float64
  // from what is there and rounded once to its type. The rows of one call are one batch. Throws
  // NUMERICAL with the linear's name, row and column for a value that is not finite.
  void round(const at::Tensor& rows) const;
  // The same, to the bit, by kernels where the rows are. False where a value is not finite or a
  // range overflows: the rows are spoilt, and round() of others that were the same decides.
  bool round_there(const at::Tensor& rows) const;

  // How many columns stay in float.
  int64_t kept_columns() const;
  // Bits of a value in storage, with its part of scales (16 bits each) and of kept columns (16).
  double bits() const;
  // What was done instead of what settings ask for; empty if nothing was.
  const std::string& fallback() const { return fallback_; }

 private:
  void calibrate(const InputStatistics& statistics, std::span<const double> scale);
  // The least and the largest value of columns that do not stay in float.
  Range extremes(std::span<const Range> columns, int64_t first) const;
  template <typename T>
  void check_finite(const T* values, int64_t rows) const;
  template <typename T>
  Range range_of_all(const T* values, int64_t rows) const;
  template <typename T>
  void round_rows(T* values, int64_t rows) const;
  template <typename T>
  bool round_by_kernel(const at::Tensor& rows) const;
  // The range of the group of columns that begins with `first`, of a row's values.
  Range range_for(std::span<const double> values, int64_t first, Range of_all) const;

  ActivationSettings settings_;
  int64_t columns_;
  int64_t share_;  // consecutive columns of a row that share a range
  std::string linear_;
  std::unique_ptr<ActivationFormat> format_;
  std::vector<uint8_t> kept_;      // a flag a column; empty: none
  std::vector<Range> calibrated_;  // of each group of columns, or one; empty: dynamic
  std::string fallback_;
};

}  // namespace quench::quantizers
