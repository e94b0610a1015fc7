#include "tests/plugins/models/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace quench::test {

std::vector<double> doubles(const at::Tensor& tensor) {
  const at::Tensor held = tensor.to(at::kDouble).cpu().contiguous();
  const auto* data = static_cast<const double*>(held.const_data_ptr());
  return {data, data + held.numel()};
}

bool identical(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         std::memcmp(a.cpu().contiguous().const_data_ptr(), b.cpu().contiguous().const_data_ptr(),
                     a.nbytes()) == 0;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) {
    return std::numeric_limits<double>::infinity();
  }
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    largest = std::isfinite(difference) ? std::max(largest, difference)
                                        : std::numeric_limits<double>::infinity();
  }
  return largest;
}

}  // namespace quench::test
