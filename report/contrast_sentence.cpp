#include "report/contrast_sentence.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "report/dimension.hpp"

namespace quench {

namespace {

bool is_difference(const ContrastSpec& spec) {
  return spec.statistic == Statistic::kDifference;
}

std::string interval_text(const Interval& interval) {
  return fmt::format("[{}, {}]", signed_text(interval.low), signed_text(interval.high));
}

// The value that says "no effect"; nothing where there is none.
std::optional<double> reference_of(const ContrastSpec& spec) {
  switch (spec.statistic) {
    case Statistic::kDifference:
    case Statistic::kRankCorrelation:
      return 0;
    case Statistic::kSlopeRatio:
      return 1;
    case Statistic::kLargestOverSmallest:
      break;
  }
  return std::nullopt;
}

bool lies_beside(const Interval& interval, double value, double reference) {
  return interval.excludes(reference) && (interval.high < reference) == (value < reference);
}

bool tells(const Spread& spread, double value, double reference) {
  return lies_beside(*spread.interval, value, reference);
}

// Also with all comparisons at once.
bool tells_at_once(const Spread& spread, double value, double reference) {
  return tells(spread, value, reference) &&
         (spread.comparisons < 2 ||
          (spread.simultaneous && lies_beside(*spread.simultaneous, value, reference)));
}

std::vector<std::string> samples(const ContrastRow& row) {
  std::vector<std::string> out;
  for (const Spread& spread : row.spreads) {
    out.push_back(sample_text(spread));
  }
  return out;
}

std::string verdict(const ContrastSpec& spec, const ContrastRow& row) {
  const std::optional<double> reference = reference_of(spec);
  const double value = shown_value(row);
  if (!reference) {
    return "";
  }
  if (row.spreads.empty()) {
    return is_difference(spec) && spec.of_metric.empty()
               ? " No spread is known, so neither can be called cheaper."
               : " No spread is known.";
  }
  std::vector<std::string> unclear;
  for (const Spread& spread : row.spreads) {
    if (!tells(spread, value, *reference)) {
      unclear.push_back(sample_text(spread));
    }
  }
  if (!unclear.empty()) {
    return fmt::format(" Not told apart from {:g} over {}.", *reference,
                       fmt::join(unclear, " and "));
  }
  if (!is_difference(spec)) {
    return fmt::format(" {} {:g}, over {}.", value < *reference ? "Below" : "Above", *reference,
                       fmt::join(samples(row), " and over "));
  }
  return fmt::format(" {} {}, over {}.", value < 0 ? spec.a.name : spec.b.name,
                     !spec.of_metric.empty() ? "has the lower " + spec.of_metric
                     : spec.of_loss          ? "has the lower loss"
                                             : "costs less",
                     fmt::join(samples(row), " and over "));
}

// "; of 5 comparisons at once [−0.02, −0.01]".
std::string family_text(const Spread& spread) {
  if (spread.comparisons < 2) {
    return "";
  }
  return spread.simultaneous ? fmt::format("; with all {} comparisons at once {}",
                                           spread.comparisons, interval_text(*spread.simultaneous))
                             : fmt::format(
                                   "; of {} comparisons, too many for an interval over "
                                   "resamples that holds for all at once",
                                   spread.comparisons);
}

std::string detectable_text(const ContrastSpec& spec, const Spread& spread) {
  return spread.detectable && reference_of(spec)
             ? fmt::format(" An effect of {:.2g} would have been detected in 4 of 5 such samples.",
                           *spread.detectable)
             : "";
}

// The same in fewer digits, for one sentence.
std::string short_text(double value) {
  return fmt::format("{:.2g}", std::abs(value));
}

}  // namespace

const Spread* first_spread(const ContrastRow& row) {
  for (const Spread& spread : row.spreads) {
    if (spread.kind == SpreadKind::kSeeds) {
      return &spread;  // the widest question comes first
    }
  }
  return row.spreads.empty() ? nullptr : &row.spreads.front();
}

double shown_value(const ContrastRow& row) {
  const Spread* spread = first_spread(row);
  return spread != nullptr ? spread->mean : row.value;
}

std::optional<double> shown_bits_per_byte(const ContrastRow& row) {
  return row.bits_per_byte && row.value != 0
             ? std::optional(*row.bits_per_byte / row.value * shown_value(row))
             : row.bits_per_byte;
}

Decision decision_of(const ContrastSpec& spec, const ContrastRow& row) {
  const std::optional<double> reference = reference_of(spec);
  if (row.spreads.empty() || !reference) {
    return Decision::kNoInterval;
  }
  const auto all = [&](const auto& says) {
    return std::all_of(row.spreads.begin(), row.spreads.end(), [&](const Spread& spread) {
      return says(spread, shown_value(row), *reference);
    });
  };
  return all(tells_at_once) ? Decision::kAtOnce : all(tells) ? Decision::kAlone : Decision::kNone;
}

std::string summary_of(const ContrastSpec& spec, const std::vector<ContrastRow>& rows) {
  if (rows.size() < 2 || !is_difference(spec)) {
    return "";
  }
  size_t lower[2] = {};  // at once, and also alone
  size_t higher[2] = {};
  size_t unknown = 0;
  size_t comparisons = 1;
  double low = shown_value(rows[0]);
  double high = low;
  for (const ContrastRow& row : rows) {
    const double value = shown_value(row);
    const Decision decision = decision_of(spec, row);
    auto& counts = value < 0 ? lower : higher;
    counts[0] += decision == Decision::kAtOnce ? 1 : 0;
    counts[1] += decision == Decision::kAtOnce || decision == Decision::kAlone ? 1 : 0;
    unknown += decision == Decision::kNoInterval ? 1 : 0;
    for (const Spread& spread : row.spreads) {
      comparisons = std::max(comparisons, spread.comparisons);
    }
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const auto before = [&](const size_t(&counts)[2]) {
    return counts[1] > counts[0] ? fmt::format(" ({} before correction)", counts[1]) : "";
  };
  return fmt::format(
      "{} against {}: {} is lower in {} of {} pairs{}, not told apart in {}, higher in {}{}{}{}; "
      "differences from {} to {}{}. Pairs along one training run are not independent, so their "
      "number is not a sample size.",
      spec.a.name, spec.b.name, measured_text(spec), lower[0], rows.size(), before(lower),
      rows.size() - lower[0] - higher[0] - unknown, higher[0], before(higher),
      unknown > 0 ? fmt::format(", without an interval in {}", unknown) : "",
      comparisons > 1 ? fmt::format(", with all {} comparisons at once", comparisons) : "",
      signed_text(low), signed_text(high), unit_text(spec, rows[0]));
}

std::string signed_text(double value) {
  const std::string digits = fmt::format("{:.4g}", std::abs(value));
  return (value < 0 ? "\u2212" : value > 0 ? "+" : "") + digits;
}

std::string measured_text(const ContrastSpec& spec) {
  return !spec.of_metric.empty()              ? spec.of_metric
         : spec.of_loss || spec.at_equal_loss ? "quantized loss"
                                              : "\u0394CE";
}

std::string unit_text(const ContrastSpec& spec, const ContrastRow& row) {
  if (spec.of_metric.empty()) {
    return " nats/token";
  }
  return row.a->unit.empty() || row.a->unit == "1" ? "" : " " + row.a->unit;
}

std::string value_name(const ContrastSpec& spec) {
  switch (spec.statistic) {
    case Statistic::kDifference:
      return !spec.of_metric.empty()              ? "difference of " + spec.of_metric
             : spec.of_loss || spec.at_equal_loss ? "difference of quantized loss"
                                                  : "\u0394CE difference";
    case Statistic::kLargestOverSmallest:
      return "largest over smallest";
    case Statistic::kSlopeRatio:
      return "ratio of slopes";
    case Statistic::kRankCorrelation:
      return "rank correlation";
  }
  return "";
}

std::string title_of(const ContrastSpec& spec) {
  const std::string of = spec.of_metric.empty() ? "" : ", " + spec.of_metric;
  switch (spec.statistic) {
    case Statistic::kDifference:
      return fmt::format("{} \u2212 {}{}{}", spec.a.name, spec.b.name, of,
                         spec.at_equal_loss ? ", at equal float loss" : "");
    case Statistic::kLargestOverSmallest:
      return fmt::format("{} \u2212 {}{}: largest over smallest", spec.a.name, spec.b.name, of);
    case Statistic::kSlopeRatio:
      return fmt::format("slope of {}{} over {}, over that of {}", spec.a.name, of, spec.over,
                         spec.b.name);
    case Statistic::kRankCorrelation:
      return fmt::format("{}{}: rank correlation with {}", spec.a.name, of,
                         spec.over.empty() ? spec.b.name : spec.over);
  }
  return "";
}

std::string sentence_of(const ContrastSpec& spec, const ContrastRow& row) {
  std::string out;
  const double value = shown_value(row);
  if (is_difference(spec)) {
    out = fmt::format("{} \u2212 {}, {}: {} {}{}", spec.a.name, spec.b.name, row.what,
                      measured_text(spec), signed_text(value), unit_text(spec, row));
  } else {
    out = fmt::format("{}, {}: {} over {} cells", title_of(spec), row.what, signed_text(value),
                      row.cells);
  }
  if (const std::optional<double> bits = shown_bits_per_byte(row)) {
    out += fmt::format(" ({} bits/byte)", signed_text(*bits));
  }
  out += ".";
  for (const Spread& spread : row.spreads) {
    const bool is_said = &spread == first_spread(row);  // its mean is the number above
    out += spread.is_resampled
               ? fmt::format(" Over {}: {}95 % interval of resamples {}{}.", sample_text(spread),
                             is_said ? "" : signed_text(spread.mean) + ", ",
                             interval_text(*spread.interval), family_text(spread))
               : fmt::format(" Over {}, paired: {}, 95 % t interval {}{}.", sample_text(spread),
                             signed_text(spread.mean), interval_text(*spread.interval),
                             family_text(spread));
    out += detectable_text(spec, spread);
  }
  out += verdict(spec, row);
  for (const std::string& note : row.notes) {
    out += " " + note;
  }
  return out;
}

std::string finding_of(const ContrastSpec& spec, const ContrastRow& row) {
  const Spread* spread = first_spread(row);
  const Decision decision = decision_of(spec, row);
  const double value = shown_value(row);
  const std::string interval =
      spread == nullptr ? " (no interval is known)"
                        : fmt::format(" [{}, {} over {}]{}", signed_text(spread->interval->low),
                                      signed_text(spread->interval->high), sample_text(*spread),
                                      decision == Decision::kAlone
                                          ? fmt::format(", but not with all {} comparisons at once",
                                                        spread->comparisons)
                                          : "");
  const std::string where = fmt::format(
      "{}{}{}",
      spread != nullptr && spread->kind == SpreadKind::kSeeds ? "In these runs" : "In this run",
      row.what.empty() ? "" : ", at ", row.what);
  if (!is_difference(spec)) {
    return fmt::format("{}: {} is {}{}.", where, title_of(spec), signed_text(value), interval);
  }
  if (decision == Decision::kNone || decision == Decision::kNoInterval) {
    const std::string missed =
        spread != nullptr && spread->detectable
            ? fmt::format("; {} would have been detected in 4 of 5 such samples",
                          short_text(*spread->detectable))
            : "";
    return fmt::format(
        "{}: {} and {} are not told apart{}; the difference is {}{}{}{}.", where, spec.a.name,
        spec.b.name, spec.of_metric.empty() ? "" : " by " + spec.of_metric, signed_text(value),
        spec.of_metric.empty() ? " nats per token" : unit_text(spec, row), interval, missed);
  }
  if (!spec.of_metric.empty()) {
    return fmt::format("{}: {} of {} is {} {} than of {}{}.", where, spec.of_metric, spec.a.name,
                       short_text(value) + unit_text(spec, row), value < 0 ? "lower" : "higher",
                       spec.b.name, interval);
  }
  const char* word = value < 0 ? "less" : "more";
  return spec.of_loss || spec.at_equal_loss
             ? fmt::format("{}: quantized, {} has a loss {} nats per token {} than {}{}.", where,
                           spec.a.name, short_text(value), value < 0 ? "lower" : "higher",
                           spec.b.name, interval)
             : fmt::format("{}: {} loses {} nats per token {} to quantization than {}{}.", where,
                           spec.a.name, short_text(value), word, spec.b.name, interval);
}

}  // namespace quench
