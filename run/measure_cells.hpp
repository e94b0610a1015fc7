// Measures the metrics of one variant on its open model.
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
  const FloatWeights* kept;  // its float weights if it is quantized; nullptr: it is float
  nlohmann::json quantizer;  // the result of describe_quantizer, with bits_per_weight
  nlohmann::json details;    // what the pass adds to the first record of each metric; or null
};

// Computes the cells that have no records yet; a failure is a record, too.
void measure_cells(WeightsAtWork& weights, const VariantModel& variant,
                   std::span<MeasuredCell> cells);

// Whether to score what the cell's metric asks for during passes over these weights.
bool is_fused(const WeightsAtWork& weights, const MeasuredCell& cell);

}  // namespace quench
