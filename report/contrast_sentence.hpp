// Contrasts in words.
#pragma once

#include <string>

#include "report/contrast.hpp"

namespace quench {

// "−0.0152": a real minus sign and four significant digits.
std::string signed_text(double value);
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
// What the lower side does: "costs less", "has a lower hessian/trace".
std::string less_text(const ContrastSpec& spec);
// " nats/token", " nats/token per step", or "" for a value without a unit.
std::string unit_text(const ContrastSpec& spec, const ContrastRow& row);

}  // namespace quench
