#include "report/spread.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "report/student_t.hpp"

namespace quench {

const char* spread_name(SpreadKind kind) {
  switch (kind) {
    case SpreadKind::kItems:
      return "items";
    case SpreadKind::kDraws:
      return "draws";
    case SpreadKind::kJitter:
      return "jitter";
    case SpreadKind::kSeeds:
      return "seeds";
  }
  return "";
}

std::string spread_text(SpreadKind kind, size_t n) {
  switch (kind) {
    case SpreadKind::kItems:
      return fmt::format("{} validation items", n);
    case SpreadKind::kDraws:
      return fmt::format("{} calibration draws", n);
    case SpreadKind::kJitter:
      return fmt::format("{} orders of one calibration draw", n);
    case SpreadKind::kSeeds:
      return fmt::format("{} seeds", n);
  }
  return "";
}

const char* spread_omits(SpreadKind kind) {
  switch (kind) {
    case SpreadKind::kItems:
      return "other calibration data, the effect of rounding, other training runs, other corpora";
    case SpreadKind::kDraws:
      return "other validation data, other training runs";
    case SpreadKind::kJitter:
      return "other calibration data, other validation data, other training runs";
    case SpreadKind::kSeeds:
      return "whatever the seed does not decide: training, if the checkpoints are the same";
  }
  return "";
}

std::string sample_text(const Spread& spread) {
  return spread.documents > 0 ? fmt::format("{} documents", spread.documents)
         : spread.run > 1
             ? fmt::format("{} in runs of {}", spread_text(spread.kind, spread.n), spread.run)
             : spread_text(spread.kind, spread.n);
}

Interval t_interval(const Spread& spread, double confidence) {
  const double half = t_quantile_of(spread.degrees_of_freedom, confidence) * *spread.standard_error;
  return {spread.mean - half, spread.mean + half};
}

Interval quantile_interval(const std::vector<double>& values, double confidence) {
  const auto at = [&](double share) {
    const double rank = share * static_cast<double>(values.size() + 1) - 1;
    const double last = static_cast<double>(values.size()) - 1;
    const double low = std::clamp(std::floor(rank), 0.0, last);
    const double high = std::min(low + 1, last);
    const double above = std::clamp(rank - low, 0.0, 1.0);
    return (1 - above) * values[static_cast<size_t>(low)] +
           above * values[static_cast<size_t>(high)];
  };
  return {at((1 - confidence) / 2), at((1 + confidence) / 2)};
}

Spread spread_of(SpreadKind kind, const std::vector<double>& values) {
  Spread out;
  out.kind = kind;
  out.n = values.size();
  if (values.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "spread over {}: no value", spread_name(kind));
  }
  const auto n = static_cast<double>(values.size());
  for (const double value : values) {
    if (!std::isfinite(value)) {
      fail(QUENCH_INVALID_ARGUMENT, "spread over {}: a value is not finite", spread_name(kind));
    }
    out.mean += value / n;
  }
  // Sums differences from a first mean: its own rounding cancels, in the mean and in the squares.
  double rest = 0;
  double squares = 0;
  for (const double value : values) {
    rest += value - out.mean;
    squares += (value - out.mean) * (value - out.mean);
  }
  out.mean += rest / n;
  squares -= rest * rest / n;
  if (values.size() >= 2) {
    out.deviation = std::sqrt(std::max(squares, 0.0) / (n - 1));
    out.standard_error = *out.deviation / std::sqrt(n);
    out.degrees_of_freedom = n - 1;
    out.interval = t_interval(out, kConfidence);
  }
  return out;
}

Spread scaled(Spread spread, double factor) {
  spread.mean *= factor;
  if (spread.interval) {
    *spread.deviation *= factor;
    *spread.standard_error *= factor;
    spread.interval = {spread.interval->low * factor, spread.interval->high * factor};
  }
  if (spread.simultaneous) {
    spread.simultaneous = {spread.simultaneous->low * factor, spread.simultaneous->high * factor};
  }
  if (spread.detectable) {
    *spread.detectable *= factor;
  }
  return spread;
}

nlohmann::json to_json(const Spread& spread) {
  nlohmann::json out = {{"kind", spread_name(spread.kind)},
                        {"n", spread.n},
                        {"mean", spread.mean},
                        {"deviation", nullptr},
                        {"stderr", nullptr},
                        {"interval", nullptr},
                        {"confidence", kConfidence},
                        {"way", spread.is_resampled ? "resampled" : "t"},
                        {"run", spread.run},
                        {"documents", spread.documents},
                        {"comparisons", spread.comparisons},
                        {"simultaneous", nullptr},
                        {"detectable", nullptr},
                        {"omits", spread_omits(spread.kind)}};
  if (spread.interval) {
    out["deviation"] = *spread.deviation;
    out["stderr"] = *spread.standard_error;
    out["interval"] = {spread.interval->low, spread.interval->high};
  }
  if (spread.simultaneous) {
    out["simultaneous"] = {spread.simultaneous->low, spread.simultaneous->high};
  }
  if (spread.detectable) {
    out["detectable"] = *spread.detectable;
  }
  return out;
}

}  // namespace quench
