// What the calibration rows of an input group say of the ranges of its columns.
#pragma once

#include <cstdint>
#include <vector>

#include "quantizers/gram/gram_group.hpp"
#include "quantizers/gram/row_sample.hpp"
#include "quantizers/inputs/settings.hpp"
#include "shared/grid/grid.hpp"

namespace quench::quantizers {

// Nothing in it depends on the order of rows, on their split into calls or on threads, but the
// sample, which holds the first ones.
class InputStatistics final : public RowObserver {
 public:
  InputStatistics(int64_t columns, const ActivationSettings& settings);

  bool wants_more() const override {
    return !ranges_.empty() || !bins_.empty() || !sample_.is_full();
  }
  void observe(const at::Tensor& rows) override;

  bool empty() const { return !sample_.rows().defined(); }
  const RowSample& sample() const { return sample_; }

  // The least and the largest value of each column, 0 included; empty where settings ask neither
  // for activation_range = max nor for columns to keep.
  const std::vector<Range>& columns() const { return ranges_; }
  // The range of a percentile p: symmetric, [-a, a] where |x| <= a for at least p percent of all
  // values; else [low, high] with at most (100 - p) / 2 percent below and as many above. An end is
  // that of a bin of float32 values with equal upper 19 bits: at most 2^-10 of itself too far out.
  Range percentile(double percent, bool sym) const;

  static uint64_t bytes(int64_t columns, const ActivationSettings& settings);

 private:
  template <typename T>
  void add_extremes(const T* rows, int64_t count);
  template <typename T>
  void add_counts(const T* rows, int64_t count);

  int64_t columns_;
  std::vector<Range> ranges_;  // [columns]
  std::vector<int64_t> bins_;  // counts of values, in ascending order
  RowSample sample_;
};

}  // namespace quench::quantizers
