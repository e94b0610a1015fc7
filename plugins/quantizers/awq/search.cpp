#include "quantizers/awq/search.hpp"

#include <cmath>

#include "quench/kit/error.hpp"

namespace quench::quantizers {

FoundScale search_scale(std::span<const Candidate> candidates, std::span<const double> inputs,
                        std::span<const ScaledWeight> weights, const Losses& losses) {
  std::vector<double> magnitudes(inputs.size());
  int64_t rows = 0;
  for (const ScaledWeight& weight : weights) {
    add_relative_magnitudes(weight, magnitudes);
    rows += weight.rows;
  }
  for (double& magnitude : magnitudes) {
    magnitude /= static_cast<double>(rows);
  }
  std::vector<std::vector<double>> scales = {std::vector<double>(inputs.size(), 1.0)};
  for (const Candidate& candidate : candidates) {
    scales.push_back(channel_scale(candidate, inputs, magnitudes));
  }
  const std::vector<double> found = losses(scales);
  size_t best = 0;  // the first of `scales` is no candidate: it measures the loss without scaling
  for (size_t i = 1; i < scales.size(); ++i) {
    if (std::isfinite(found[i]) && (best == 0 || found[i] < found[best])) {
      best = i;
    }
  }
  if (best == 0) {
    throw kit::Error(QUENCH_NUMERICAL, "no channel scale gives a finite loss");
  }
  FoundScale out;
  out.loss = found[best];
  out.plain_loss = found[0];
  out.candidate = candidates[best - 1];
  out.scale = std::move(scales[best]);
  return out;
}

}  // namespace quench::quantizers
