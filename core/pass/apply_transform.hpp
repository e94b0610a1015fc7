// A transform of the grid applied to an open model.
#pragma once

#include <nlohmann/json.hpp>

#include "core/pass/model_edit.hpp"
#include "core/plugin/transform_handle.hpp"

namespace quench {

// Shows the transform the float model's rows, where it wants them, and lets it change the model.
// The weights that it replaces are in `kept`. Throws what edit_model throws, and
// FAILED_PRECONDITION for one that needs rows where there is no calibration.
ModelEdits apply_transform(ModelHandle& model, TransformHandle& transform,
                           const CalibrationRows* calibration, FloatWeights& kept);

// What the record says of it: changes by name, how often each kind, how far the logits moved.
nlohmann::json describe_edits(const ModelEdits& edits);

}  // namespace quench
