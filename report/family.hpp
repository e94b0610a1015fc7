// Comparisons that one report makes side by side.
//
// Of twenty comparisons without any effect, one has a 95 % interval that leaves out 0. So every
// interval is told how many there are, and gets a second one beside it that holds for all of them
// at once (Bonferroni: each at 1 − 0.05/m). The family is all rows of all contrasts of a report.
#pragma once

#include <vector>

#include "report/contrast.hpp"

namespace quench {

inline constexpr double kPower = 0.8;  // "4 of 5 such samples"

// Sets `comparisons`, `simultaneous` and `detectable` of all spreads, and writes the sentences
// anew. An interval over resamples is widened as long as five resamples lie outside on each side.
void mark_family(std::vector<Contrast>& contrasts);

}  // namespace quench
