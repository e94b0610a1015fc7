// How large a model's weights are on disk, for comparisons at equal size.
#pragma once

#include <cstdint>

#include "core/inputs/weights/open_weights.hpp"

namespace quench {

struct QuantizedShare {
  uint64_t weights = 0;  // of all quantized linears
  double bits = 0;       // stored per weight of those, with scales and zeros
};

// Bytes of all parameters: the quantized ones at their bits, the others in the type in which most
// of the checkpoint's values are stored.
double stored_bytes(const OpenWeights& open, const QuantizedShare& quantized);

}  // namespace quench
