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

bool tells(const Spread& spread, double value, double reference) {
  return spread.interval->excludes(reference) &&
         (spread.interval->high < reference) == (value < reference);
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
    if (!tells(spread, row.value, *reference)) {
      unclear.push_back(sample_text(spread));
    }
  }
  if (!unclear.empty()) {
    return fmt::format(" Not told apart from {:g} over {}.", *reference,
                       fmt::join(unclear, " and "));
  }
  if (!is_difference(spec)) {
    return fmt::format(" {} {:g}, over {}.", row.value < *reference ? "Below" : "Above", *reference,
                       fmt::join(samples(row), " and over "));
  }
  return fmt::format(" {} {}, over {}.", row.value < 0 ? spec.a.name : spec.b.name,
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

const Spread* first_of(const ContrastRow& row) {
  for (const Spread& spread : row.spreads) {
    if (spread.kind == SpreadKind::kSeeds) {
      return &spread;  // the widest question comes first
    }
  }
  return row.spreads.empty() ? nullptr : &row.spreads.front();
}

// The same in fewer digits, for one sentence.
std::string short_text(double value) {
  return fmt::format("{:.2g}", std::abs(value));
}

}  // namespace

std::string signed_text(double value) {
  const std::string digits = fmt::format("{:.4g}", std::abs(value));
  return (value < 0 ? "\u2212" : value > 0 ? "+" : "") + digits;
}

std::string measured_text(const ContrastSpec& spec) {
  return !spec.of_metric.empty()              ? spec.of_metric
         : spec.of_loss || spec.at_equal_loss ? "quantized loss"
                                              : "\u0394CE";
}

std::string less_text(const ContrastSpec& spec) {
  return !spec.of_metric.empty() ? "has a lower " + spec.of_metric
         : spec.of_loss          ? "has a lower loss"
                                 : "costs less";
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
  if (is_difference(spec)) {
    out = fmt::format("{} \u2212 {}, {}: {} {}{}", spec.a.name, spec.b.name, row.what,
                      measured_text(spec), signed_text(row.value), unit_text(spec, row));
  } else {
    out = fmt::format("{}, {}: {} over {} cells", title_of(spec), row.what, signed_text(row.value),
                      row.cells);
  }
  if (row.bits_per_byte) {
    out += fmt::format(" ({} bits/byte)", signed_text(*row.bits_per_byte));
  }
  out += ".";
  for (const Spread& spread : row.spreads) {
    out += spread.is_resampled
               ? fmt::format(" Over {}: 95 % interval of resamples {}{}.", sample_text(spread),
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
  const Spread* spread = first_of(row);
  const std::string interval =
      spread == nullptr
          ? " (no interval is known)"
          : fmt::format(" {}, {} over {}]", fmt::format("[{}", signed_text(spread->interval->low)),
                        signed_text(spread->interval->high), sample_text(*spread));
  const std::string where = row.what.empty() ? "" : ", at " + row.what;
  if (!is_difference(spec)) {
    return fmt::format("In this run{}: {} is {}{}.", where, title_of(spec), signed_text(row.value),
                       interval);
  }
  const bool told = spread != nullptr &&
                    std::all_of(row.spreads.begin(), row.spreads.end(),
                                [&](const Spread& each) { return tells(each, row.value, 0); });
  if (!told) {
    const std::string missed =
        spread != nullptr && spread->detectable
            ? fmt::format("; {} would have been detected in 4 of 5 such samples",
                          short_text(*spread->detectable))
            : "";
    return fmt::format(
        "In this run{}: {} and {} are not told apart{}; the difference is {}{}{}{}.", where,
        spec.a.name, spec.b.name, spec.of_metric.empty() ? "" : " by " + spec.of_metric,
        signed_text(row.value), spec.of_metric.empty() ? " nats per token" : unit_text(spec, row),
        interval, missed);
  }
  if (!spec.of_metric.empty()) {
    return fmt::format("In this run{}: {} of {} is {} {} than of {}{}.", where, spec.of_metric,
                       spec.a.name, short_text(row.value) + unit_text(spec, row),
                       row.value < 0 ? "lower" : "higher", spec.b.name, interval);
  }
  const char* word = row.value < 0 ? "less" : "more";
  return spec.of_loss || spec.at_equal_loss
             ? fmt::format(
                   "In this run{}: quantized, {} has a loss {} nats per token {} than {}{}.", where,
                   spec.a.name, short_text(row.value), row.value < 0 ? "lower" : "higher",
                   spec.b.name, interval)
             : fmt::format(
                   "In this run{}: {} loses {} nats per token {} to quantization than {}{}.", where,
                   spec.a.name, short_text(row.value), word, spec.b.name, interval);
}

}  // namespace quench
