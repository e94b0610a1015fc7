// Applies a transform of the grid to an open model.
#pragma once

#include <nlohmann/json.hpp>

#include "core/pass/model_edit.hpp"
#include "core/plugin/handles/transform_handle.hpp"

namespace quench {

// Shows the transform the float model's activations, if it wants them, and lets it change the
// model. `kept` has the weights that it replaces. Throws what edit_model throws, and
// FAILED_PRECONDITION for a transform that needs activations if there is no calibration.
ModelEdits apply_transform(ModelHandle& model, TransformHandle& transform,
                           const CalibrationRows* calibration, FloatWeights& kept);

// The record's description: changes by name, the number of each kind, how far the logits moved.
nlohmann::json describe_edits(const ModelEdits& edits);

}  // namespace quench
