#include "quantizers/awq/candidates.hpp"

#include <algorithm>
#include <cmath>

#include "quantizers/awq/device/rounding_by_kernel.hpp"

namespace quench::quantizers {

namespace {

constexpr double kWeightFloor = 1e-4;
constexpr double kScaleFloor = 1e-4;
constexpr double kMaximumFloor = 1e-6;

}  // namespace

std::vector<Candidate> candidates_of(const std::string& rule, const std::string& duo,
                                     int64_t count) {
  const bool both = duo == "both";
  const int64_t steps = both ? std::max<int64_t>(count / 2, 2) : count;
  const bool identity = rule == "llm_compressor" && duo == "on";
  // The last ratio is (steps - 1) / divisor.
  const int64_t divisor =
      rule == "autoawq" ? steps : std::max<int64_t>(steps - (identity ? 2 : 1), 1);
  std::vector<Candidate> out;
  if (identity) {
    out.push_back({0, false});
  }
  for (int64_t i = 0; i < steps - (identity ? 1 : 0); ++i) {
    const double ratio = static_cast<double>(i) / static_cast<double>(divisor);
    if (both) {
      out.push_back({ratio, false});
    }
    out.push_back({ratio, duo != "off"});
  }
  return out;
}

std::vector<double> channel_scale(const Candidate& candidate, std::span<const double> inputs,
                                  std::span<const double> weights) {
  std::vector<double> scale(inputs.size());
  for (size_t c = 0; c < scale.size(); ++c) {
    const double x = std::pow(inputs[c], candidate.ratio);
    const double w = candidate.duo ? std::pow(weights[c], 1 - candidate.ratio) + kWeightFloor : 1;
    scale[c] = std::max(x / w, kScaleFloor);
  }
  const auto [least, most] = std::minmax_element(scale.begin(), scale.end());
  const double middle = std::sqrt(*least * *most);
  for (double& s : scale) {
    s /= middle;
    s = std::isfinite(s) && s > 0 ? s : 1;
  }
  return scale;
}

void add_relative_magnitudes(const ScaledWeight& weight, std::span<double> sums) {
  if (!rounds_on_host(weight)) {
    add_relative_magnitudes_by_kernel(weight, kMaximumFloor, sums);
    return;
  }
  const bool wide = weight.weight.scalar_type() == at::kDouble;
  const float* narrow_values = wide ? nullptr : weight.weight.const_data_ptr<float>();
  const double* wide_values = wide ? weight.weight.const_data_ptr<double>() : nullptr;
  const auto value = [&](int64_t i) {
    return std::fabs(wide ? wide_values[i] : static_cast<double>(narrow_values[i]));
  };
  for (int64_t r = 0; r < weight.rows; ++r) {
    for (int64_t first = 0; first < weight.columns; first += weight.groups.size) {
      const int64_t last = std::min(first + weight.groups.size, weight.columns);
      double most = 0;
      for (int64_t c = first; c < last; ++c) {
        most = std::max(most, value(r * weight.columns + c));
      }
      for (int64_t c = first; c < last; ++c) {
        sums[static_cast<size_t>(c)] += value(r * weight.columns + c) / (most + kMaximumFloor);
      }
    }
  }
}

}  // namespace quench::quantizers
