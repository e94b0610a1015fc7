// A sum of losses, part of which a GPU may still be computing.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace quench::decoder {

// The sum in float64, one term after the other; waits for the device of `losses`.
double sum_of(const at::Tensor& losses);

class LossSum {
 public:
  LossSum() = default;
  explicit LossSum(double ready) : ready_(ready) {}
  // The sum of this tensor's elements, none of which changes.
  explicit LossSum(at::Tensor losses) : coming_{std::move(losses)} {}

  LossSum& operator+=(const LossSum& other);
  bool is_known() const { return coming_.empty(); }
  // Waits for the device. Throws NUMERICAL if it is not finite.
  double value() const;

 private:
  double ready_ = 0;
  std::vector<at::Tensor> coming_;
};

}  // namespace quench::decoder
