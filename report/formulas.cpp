#include "report/formulas.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quench {

namespace {

double average(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Σ (x − x̄)(y − ȳ).
double cross(std::span<const double> x, std::span<const double> y) {
  const double mean_x = average(x);
  const double mean_y = average(y);
  double out = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    out += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return out;
}

}  // namespace

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return values[i] < values[j]; });
  std::vector<double> out(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) {
      ++end;
    }
    for (size_t i = first; i < end; ++i) {
      out[order[i]] = static_cast<double>(first + 1 + end) / 2;
    }
    first = end;
  }
  return out;
}

std::optional<double> rank_correlation(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 3 || x.size() != y.size()) {
    return std::nullopt;
  }
  const std::vector<double> rank_x = ranks_of(x);
  const std::vector<double> rank_y = ranks_of(y);
  const double size = cross(rank_x, rank_x) * cross(rank_y, rank_y);
  return size > 0 ? std::optional(std::clamp(cross(rank_x, rank_y) / std::sqrt(size), -1.0, 1.0))
                  : std::nullopt;
}

std::optional<double> slope(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 3 || x.size() != y.size()) {
    return std::nullopt;
  }
  const double size = cross(x, x);
  return size > 0 ? std::optional(cross(x, y) / size) : std::nullopt;
}

std::optional<double> largest_over_smallest(std::span<const double> values) {
  if (values.size() < 2) {
    return std::nullopt;
  }
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  return *smallest > 0 ? std::optional(*largest / *smallest) : std::nullopt;
}

std::optional<Crossing> last_crossing(std::span<const double> losses, double loss) {
  for (size_t next = losses.size(); next-- > 0;) {
    if (losses[next] == loss) {
      return Crossing{next, 0};
    }
    if (next == 0) {
      break;
    }
    const double here = losses[next - 1];
    if (std::min(here, losses[next]) < loss && loss < std::max(here, losses[next])) {
      return Crossing{next - 1, (loss - here) / (losses[next] - here)};
    }
  }
  return std::nullopt;
}

double value_at(std::span<const double> values, const Crossing& crossing) {
  return crossing.share == 0 ? values[crossing.first]
                             : (1 - crossing.share) * values[crossing.first] +
                                   crossing.share * values[crossing.first + 1];
}

}  // namespace quench
