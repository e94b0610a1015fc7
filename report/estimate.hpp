// A number made of the losses of several cells, with what it would be in other samples: over
// validation items by resampling, over draws, orders and seeds from the number that each of them
// gives.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/pairing.hpp"

namespace quench {

struct CellLosses {
  double floating = 0;
  double quantized = 0;
  double delta() const { return quantized - floating; }
};

// Nothing where the number does not exist: curves that do not overlap, a smallest that is not
// above 0.
using Formula = std::function<std::optional<double>(std::span<const CellLosses>)>;

struct Estimate {
  std::optional<double> value;
  std::vector<Spread> spreads;
  std::vector<std::string> notes;
};

// Each group holds the replicates of one cell and has a base.
Estimate estimate(const std::vector<Group>& cells, const Formula& formula);

// The losses of the replicates of one kind, by draw, order or seed; all else equals the base.
std::map<int64_t, CellLosses> replicates_of(const Group& cell, SpreadKind kind);
// Whether a kind of replicate cannot make the cell differ: draws and orders of a method without
// calibration.
bool is_fixed(const Group& cell, SpreadKind kind);

}  // namespace quench
