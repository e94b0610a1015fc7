#include "metrics/error_decomposition/moments.hpp"

#include <cmath>

namespace quench::metrics {

void Moments::add(std::span<const double> values) {
  if (count_ == 0 && !values.empty()) {
    shift_ = values.front();
  }
  for (const double value : values) {
    const double x = value - shift_;
    const double square = x * x;
    first_ += x;
    second_ += square;
    third_ += square * x;
    fourth_ += square * square;
  }
  count_ += static_cast<double>(values.size());
}

double Moments::excess_kurtosis() const {
  const double mean = first_ / count_;
  const double second = second_ / count_ - mean * mean;
  const double fourth = fourth_ / count_ - 4 * mean * third_ / count_ +
                        6 * mean * mean * second_ / count_ - 3 * std::pow(mean, 4);
  return second > 0 ? fourth / (second * second) - 3 : std::nan("");
}

}  // namespace quench::metrics
