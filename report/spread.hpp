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
  // Items that depend on their neighbours (report/item_sample.hpp): how many neighbours are drawn
  // together, 1 for none; and the documents that were the sample in place of blocks, 0 for none.
  size_t run = 1;
  size_t documents = 0;
  double degrees_of_freedom = 0;
  // Whether the interval is between quantiles of `resampled`; else mean ± t · standard_error.
  bool is_resampled = false;
  std::vector<double> resampled;  // ascending
  // For n >= 2 only: the standard deviation of the values (n − 1 in the denominator), the standard
  // error of their mean, and the interval at kConfidence.
  std::optional<double> deviation;
  std::optional<double> standard_error;
  std::optional<Interval> interval;
  // Among `comparisons` (report/family.hpp): the interval that holds for all of them at once, and
  // the smallest effect that this one had a good chance to detect.
  size_t comparisons = 1;
  std::optional<Interval> simultaneous;
  std::optional<double> detectable;
};

// "3 calibration draws", "113 validation items in runs of 15", "40 documents".
std::string sample_text(const Spread& spread);

// mean ± t · standard_error; the standard error must be known.
Interval t_interval(const Spread& spread, double confidence);
// Between the quantiles of ascending `values` that leave out (1 − confidence)/2 on each side, which
// lie at ranks of n + 1.
Interval quantile_interval(const std::vector<double>& values, double confidence);

// The spread of independent values, summed in the given order. Throws Error(INVALID_ARGUMENT) if
// there are none or one is not finite.
Spread spread_of(SpreadKind kind, const std::vector<double>& values);
// Multiplies all values of the spread by `factor` > 0.
Spread scaled(Spread spread, double factor);
nlohmann::json to_json(const Spread& spread);

}  // namespace quench
