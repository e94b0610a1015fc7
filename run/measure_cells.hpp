// The metrics of one variant, on the model as the variant has made it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "core/pass/evaluate.hpp"
#include "core/weights/float_weights.hpp"
#include "core/weights/open_weights.hpp"
#include "run/weights_at_work.hpp"

namespace quench {

// The open model of one variant.
struct VariantModel {
  OpenWeights& open;
  const FloatWeights* kept;  // its float weights where it is quantized; nullptr: it is float
  nlohmann::json quantizer;  // as describe_quantizer, with bits_per_weight
  nlohmann::json details;    // what the pass adds to the first record of each metric; or null
};

// Computes the cells that have no records yet; a failure is a record.
void measure_cells(WeightsAtWork& weights, const VariantModel& variant,
                   std::span<MeasuredCell> cells);

// Whether what the cell's metric scores is to be scored during passes over these weights.
bool is_fused(const WeightsAtWork& weights, const MeasuredCell& cell);

// Throws Error where a plugin of a cell has left the process other than it found it; sets it back.
// `plugins`: who may have been it.
void check_process(const std::string& plugins);

}  // namespace quench
