// Quantized weights of a run's grid, written beside its results.
#pragma once

#include <string>
#include <vector>

#include "core/checkpoint/packed/store_linear.hpp"
#include "core/run/row_folders.hpp"
#include "core/run/weights/open_weights.hpp"

namespace quench {

// Writes the folder, or leaves it to another process that has written the same meanwhile. Throws
// what export_weights and SealedFolder throw.
void export_row(OpenWeights& open, std::vector<StoredLinear> stored, const OwedFolder& owed,
                const std::string& tokenizer);

}  // namespace quench
