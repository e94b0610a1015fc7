// The scale with the least squared error in plain loops, the oracle of the tests: it tries every
// scale that the format can store, where those are few, and looks up the nearest element.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "shared/number_formats/number_format.hpp"

namespace quench::number_formats::by_force {

// The magnitudes of the elements, ascending.
inline std::vector<double> element_magnitudes(const NumberFormat& format) {
  std::vector<double> out;
  for (int64_t code = 0; code < format.entries(); ++code) {
    const double element = format.element_of(static_cast<uint8_t>(code));
    if (std::isfinite(element)) {
      out.push_back(std::fabs(element));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline double squared_error(std::span<const double> values, double scale,
                            const std::vector<double>& elements) {
  double sum = 0;
  for (const double value : values) {
    const double x = std::fabs(value);
    const auto above = std::lower_bound(elements.begin(), elements.end(), x,
                                        [&](double e, double want) { return scale * e < want; });
    double least = above != elements.end() ? scale * *above - x : HUGE_VAL;
    if (above != elements.begin()) {
      least = std::min(least, x - scale * *(above - 1));
    }
    sum += least * least;
  }
  return sum;
}

// Every scale that may be stored; of float32 the means of the k largest magnitudes (ternary) and of
// all (binary), or the rule's times the factors 16/32 to 63/32 (floats).
inline std::vector<double> storable_scales(const NumberFormat& format,
                                           std::span<const double> values, double tensor_scale,
                                           double usual) {
  std::vector<double> out;
  if (format.scale == ScaleType::kE8M0) {
    for (int exponent = -127; exponent <= 127; ++exponent) {
      out.push_back(std::ldexp(1.0, exponent));
    }
  } else if (format.scale == ScaleType::kTwoLevel) {
    for (int code = 1; code <= 126; ++code) {
      out.push_back(tensor_scale * decode(kE4M3, static_cast<uint8_t>(code)));
    }
  } else if (format.type == ElementType::kTernary) {
    std::vector<double> magnitudes;
    for (const double value : values) {
      magnitudes.push_back(-std::fabs(value));
    }
    std::sort(magnitudes.begin(), magnitudes.end());
    double sum = 0;
    for (size_t k = 0; k < magnitudes.size(); ++k) {
      sum -= magnitudes[k];
      out.push_back(static_cast<float>(sum / static_cast<double>(k + 1)));
    }
  } else if (format.type == ElementType::kFloat) {
    for (int factor = 16; factor < 64; ++factor) {
      out.push_back(static_cast<float>(usual * factor / 32));
    }
  }
  return out;
}

inline double least_squares_scale(const NumberFormat& format, std::span<const double> values,
                                  double tensor_scale = 1) {
  const auto count = static_cast<int64_t>(values.size());
  const double usual = format.scale_of(statistic_of(format, values.data(), count), tensor_scale);
  const std::vector<double> elements = element_magnitudes(format);
  double best = usual;
  double least = squared_error(values, usual, elements);
  for (const double scale : storable_scales(format, values, tensor_scale, usual)) {
    const double error = squared_error(values, scale, elements);
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

}  // namespace quench::number_formats::by_force
