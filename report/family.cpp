#include "report/family.hpp"

#include "report/contrast_sentence.hpp"
#include "report/student_t.hpp"

namespace quench {

namespace {

constexpr double kFewestOutside = 5;  // resamples

void mark(size_t comparisons, Spread& spread) {
  const double confidence = 1 - (1 - kConfidence) / static_cast<double>(comparisons);
  spread.comparisons = comparisons;
  if (comparisons > 1 && spread.is_resampled) {
    const double outside = (1 - confidence) / 2 * static_cast<double>(spread.resampled.size() + 1);
    if (outside >= kFewestOutside) {
      spread.simultaneous = quantile_interval(spread.resampled, confidence);
    }
  } else if (comparisons > 1) {
    spread.simultaneous = t_interval(spread, confidence);
  }
  spread.detectable =
      *spread.standard_error * detectable_errors(spread.degrees_of_freedom, kConfidence, kPower);
  spread.resampled.clear();
  spread.resampled.shrink_to_fit();
}

}  // namespace

void mark_family(std::vector<Contrast>& contrasts) {
  size_t comparisons = 0;
  for (const Contrast& contrast : contrasts) {
    comparisons += contrast.rows.size();
  }
  for (Contrast& contrast : contrasts) {
    for (ContrastRow& row : contrast.rows) {
      for (Spread& spread : row.spreads) {
        mark(comparisons, spread);
      }
      row.sentence = sentence_of(contrast.spec, row);
    }
    contrast.summary = summary_of(contrast.spec, contrast.rows);
  }
}

}  // namespace quench
