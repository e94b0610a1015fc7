// Contrasts in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/contrast.hpp"

namespace quench {

// "−0.0152": a real minus sign and four significant digits.
std::string signed_text(double value);
// The spread that a row's first number is the mean of: over seeds if there are several, else the
// first of what there is; nullptr if there is none.
const Spread* first_spread(const ContrastRow& row);
// What sentences and tables show of a row: that mean, so that it lies in the interval beside it;
// the row's own value only where there is no interval.
double shown_value(const ContrastRow& row);
std::optional<double> shown_bits_per_byte(const ContrastRow& row);

// Whether all intervals of a row exclude that there is no effect.
enum class Decision {
  kAtOnce,  // also those that hold for all comparisons of the report
  kAlone,   // only each by itself
  kNone,
  kNoInterval
};
Decision decision_of(const ContrastSpec& spec, const ContrastRow& row);
// "a against b: ΔCE is lower in 3 of 18 pairs (6 before correction), not told apart in 15, higher
// in 0, ...": counts what is decided; "" where there is nothing to count.
std::string summary_of(const ContrastSpec& spec, const std::vector<ContrastRow>& rows);

// What a row says, with its intervals, those of the family beside them, and its notes.
std::string sentence_of(const ContrastSpec& spec, const ContrastRow& row);
// The same in one sentence: "In this run, at step 1200, 3 bits: decayed loses 0.0140 nats per token
// more to quantization than constant rate [+0.0080, +0.0190 over 113 validation items]."
std::string finding_of(const ContrastSpec& spec, const ContrastRow& row);
// What the value is called: "ΔCE difference", "slope ratio".
std::string value_name(const ContrastSpec& spec);
// "rank correlation with lr", "a − b".
std::string title_of(const ContrastSpec& spec);

// What is compared: "ΔCE", "the quantized loss", "hessian/trace".
std::string measured_text(const ContrastSpec& spec);
// " nats/token", " nats/token per step", or "" for a value without a unit.
std::string unit_text(const ContrastSpec& spec, const ContrastRow& row);

}  // namespace quench
