// Quantized weights of a run's grid, written beside its results.
#pragma once

#include <filesystem>
#include <vector>

#include "core/checkpoint/packed/store_linear.hpp"
#include "core/run/grid/grid.hpp"
#include "core/run/weights/open_weights.hpp"

namespace quench {

// Where a variant is to be written and is not yet; empty where there is nothing to do. Written is
// draw 0 of a checkpoint's quantizer with store_as; averages are measured as stored, not written.
std::filesystem::path owed_export(const Experiment& experiment, const WeightsCell& weights,
                                  const Variant& variant, const std::filesystem::path& exports);

// Throws what export_weights throws.
void export_row(OpenWeights& open, std::vector<StoredLinear> stored,
                const std::filesystem::path& folder, const std::string& tokenizer);

}  // namespace quench
