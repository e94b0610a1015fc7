// The rows of one contrast, by what it says of its sides.
#pragma once

#include <string>
#include <vector>

#include "report/contrast.hpp"
#include "report/pairing.hpp"

namespace quench {

struct ContrastRows {
  std::vector<ContrastRow> rows;
  std::vector<std::string> problems;
};

// One row for each pair.
ContrastRows difference_rows(const ContrastSpec& spec, const Pairing& pairing);
// One row for each pair of lines of checkpoints, at one float loss.
ContrastRows equal_loss_rows(const ContrastSpec& spec, const LinePairing& lines);
// Over the pairs that agree in everything but the checkpoint: the largest difference over the
// smallest, or the rank correlation of the two sides.
ContrastRows rows_over_pairs(const ContrastSpec& spec, const Pairing& pairing);
// Over lines of checkpoints: the ratio of two slopes, or one side's rank correlation with an axis.
ContrastRows rows_over_axis(const ContrastSpec& spec, const LinePairing& lines);

// Adds the notes that every row needs: methods without calibration, one training run.
void add_notes(const ContrastSpec& spec, const Observation& a, const Observation* b,
               ContrastRow& row);

}  // namespace quench
