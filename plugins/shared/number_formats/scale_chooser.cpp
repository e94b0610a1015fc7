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
  if (format_.type == ElementType::kBinary) {
    return usual;
  }
  double best = usual;
  double least = squared_error(usual, std::numeric_limits<double>::infinity());
  const auto consider = [&](double scale) {
    const double error = squared_error(scale, least);
    if (error < least) {
      least = error;
      best = scale;
    }
  };
  switch (format_.scale) {
    case ScaleType::kE8M0: {
      const int code = format_.scale_code(usual);
      for (const int other : {code - 1, code + 1}) {
        if (other >= 0 && other < kE8M0Nan) {
          consider(decode_e8m0(static_cast<uint8_t>(other)));
        }
      }
      break;
    }
    case ScaleType::kTwoLevel: {
      const int code = format_.scale_code(usual, tensor_scale_);
      const int last = std::min(code + kNearCodes, kE4M3.largest_code());
      for (int other = std::max(code - kNearCodes, 1); other <= last; ++other) {
        if (other != code) {
          consider(tensor_scale_ * decode(kE4M3, static_cast<uint8_t>(other)));
        }
      }
      break;
    }
    case ScaleType::kFloat32:
      for (int factor = kLeastFactor; factor < kFactorsEnd; ++factor) {
        if (factor != kFactorUnit) {
          consider(float32_scale(usual * factor / kFactorUnit));
        }
      }
      break;
  }
  return best;
}

}  // namespace quench::number_formats
