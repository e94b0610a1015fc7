#include "shared/number_formats/scale_chooser.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace quench::number_formats {

namespace {

constexpr size_t kRun = 16;  // values between two looks at the limit

// The sum of squared errors of the values rounded by `code_of`, or a number that is at least
// `limit`.
template <typename CodeOf>
double sum_of_squares(const std::vector<double>& values, double scale, double limit,
                      const std::array<double, 256>& elements, const CodeOf& code_of) {
  double sum = 0;
  for (size_t i = 0; i < values.size() && sum < limit;) {
    for (const size_t end = std::min(i + kRun, values.size()); i < end; ++i) {
      const double error = values[i] - scale * elements[code_of(values[i])];
      sum += error * error;
    }
  }
  return sum;
}

}  // namespace

double ScaleChooser::squared_error(double scale, double limit) const {
  if (format_.type == ElementType::kFloat) {
    const FloatElement element = format_.element;
    return sum_of_squares(magnitudes_, scale, limit, elements_,
                          [&](double x) { return encode(element, x / scale); });
  }
  return sum_of_squares(magnitudes_, scale, limit, elements_,
                        [&](double x) { return format_.code_of(x, scale); });
}

// S_k / sqrt(k) has the order of S_k^2 / k and does not overflow before the sum does. Of equal ones
// the fewest magnitudes are kept.
double ScaleChooser::of_kept_magnitudes() {
  std::sort(magnitudes_.begin(), magnitudes_.end(), std::greater<>());
  double sum = 0;
  double most = 0;
  double mean = 0;
  for (size_t i = 0; i < magnitudes_.size(); ++i) {
    const auto kept = static_cast<double>(i + 1);
    sum += magnitudes_[i];
    const double gain = sum / std::sqrt(kept);
    if (gain > most) {
      most = gain;
      mean = sum / kept;
    }
  }
  return static_cast<float>(mean);
}

double ScaleChooser::least_squares(double usual) {
  if (format_.type == ElementType::kTernary) {
    return of_kept_magnitudes();
  }
  const int alternatives = alternative_scales(format_);
  if (alternatives == 0) {
    return usual;
  }
  double best = usual;
  double least = squared_error(usual, std::numeric_limits<double>::infinity());
  for (int i = 0; i < alternatives; ++i) {
    const double scale = alternative_scale(format_, usual, tensor_scale_, i);
    const double error = scale > 0 ? squared_error(scale, least) : least;
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

}  // namespace quench::number_formats
