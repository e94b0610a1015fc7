// The numbers that contrasts make of several losses, each on plain values.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace quench {

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values);
// Spearman's: Pearson's correlation of the ranks. Nothing for fewer than 3 points or where a side
// is constant.
std::optional<double> rank_correlation(std::span<const double> x, std::span<const double> y);
// The least-squares slope of y over x; nothing for fewer than 3 points or a constant x.
std::optional<double> slope(std::span<const double> x, std::span<const double> y);
// Nothing for fewer than 2 values or where the smallest is not above 0.
std::optional<double> largest_over_smallest(std::span<const double> values);

// A place on a line of checkpoints: between `first` and the next one, `share` of the way.
struct Crossing {
  size_t first = 0;
  double share = 0;
};
// Where the losses along a line last pass `loss`; nothing where they never do.
std::optional<Crossing> last_crossing(std::span<const double> losses, double loss);
// The value at a crossing, on a line between the two.
double value_at(std::span<const double> values, const Crossing& crossing);

}  // namespace quench
