// Kurtosis of values that come in pieces.
#pragma once

#include <span>

namespace quench::metrics {

// Sums of powers, in float64 and in the order in which values come.
class Moments {
 public:
  void add(std::span<const double> values);
  // m₄/m₂² − 3 about the mean, with m_k = Σ(x − x̄)^k/n: 0 for a normal distribution. NaN where all
  // values are equal, or there are none.
  double excess_kurtosis() const;

 private:
  double count_ = 0;
  double shift_ = 0;  // the first value: powers of what is left lose fewer digits
  double first_ = 0;
  double second_ = 0;
  double third_ = 0;
  double fourth_ = 0;
};

}  // namespace quench::metrics
