#include "report/spread.hpp"

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
    const double half = t_quantile(values.size(), kConfidence) * *out.standard_error;
    out.interval = {out.mean - half, out.mean + half};
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
                        {"omits", spread_omits(spread.kind)}};
  if (spread.interval) {
    out["deviation"] = *spread.deviation;
    out["stderr"] = *spread.standard_error;
    out["interval"] = {spread.interval->low, spread.interval->high};
  }
  return out;
}

}  // namespace quench
