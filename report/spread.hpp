// How much a number would differ had something else been drawn, and what that something is. Spreads
// of different origin are never mixed: each has a kind of its own and is told beside the others.
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
  kDraws,   // disjoint slices of the calibration corpus
  kJitter,  // orders of the same calibration rows: the chaos of rounding alone
  kSeeds,   // runs of the same manifest with other seeds
};

inline constexpr SpreadKind kSpreadKinds[] = {SpreadKind::kItems, SpreadKind::kDraws,
                                              SpreadKind::kJitter, SpreadKind::kSeeds};

// "items", "draws", "jitter", "seeds": as manifests and JSON have it.
const char* spread_name(SpreadKind kind);
// "3 calibration draws".
std::string spread_text(SpreadKind kind, size_t n);
// What such an interval says nothing about.
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
  // With n >= 2 only: the deviation of the values (n − 1 in the denominator), that of their mean,
  // and the mean's interval mean ± t · deviation/√n.
  std::optional<double> deviation;
  std::optional<double> standard_error;
  std::optional<Interval> interval;
};

// Of independent values, in the order given. Throws Error(INVALID_ARGUMENT) when there are none or
// one is not finite.
Spread spread_of(SpreadKind kind, const std::vector<double>& values);
// All values of the spread times `factor` > 0.
Spread scaled(Spread spread, double factor);
nlohmann::json to_json(const Spread& spread);

}  // namespace quench
