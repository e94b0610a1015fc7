// How much a number would differ if another sample had been drawn. Spreads over different kinds of
// samples are never mixed: each kind is reported by itself.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace quench {

inline constexpr double kConfidence = 0.95;

enum class SpreadKind {
  kItems,   // the items of the metric: validation blocks, questions
  kDraws,   // disjoint samples of the calibration corpus
  kJitter,  // orders of the same calibration rows: the effect of rounding alone
  kSeeds,   // runs of the same manifest with other seeds
};

inline constexpr SpreadKind kSpreadKinds[] = {SpreadKind::kItems, SpreadKind::kDraws,
                                              SpreadKind::kJitter, SpreadKind::kSeeds};

// "items", "draws", "jitter", "seeds": the names in manifests and JSON.
const char* spread_name(SpreadKind kind);
// "3 calibration draws".
std::string spread_text(SpreadKind kind, size_t n);
// What such an interval does not cover.
const char* spread_omits(SpreadKind kind);

struct Interval {
  double low = 0;
  double high = 0;
  bool excludes(double value) const { return value < low || value > high; }
};

struct Spread {
  SpreadKind kind = SpreadKind::kItems;
  size_t n = 0;
  double mean = 0;
  // For n >= 2 only: the standard deviation of the values (n − 1 in the denominator), the standard
  // error of their mean, and the interval mean ± t · deviation/√n.
  std::optional<double> deviation;
  std::optional<double> standard_error;
  std::optional<Interval> interval;
};

// The spread of independent values, summed in the given order. Throws Error(INVALID_ARGUMENT) if
// there are none or one is not finite.
Spread spread_of(SpreadKind kind, const std::vector<double>& values);
// Multiplies all values of the spread by `factor` > 0.
Spread scaled(Spread spread, double factor);
nlohmann::json to_json(const Spread& spread);

}  // namespace quench
