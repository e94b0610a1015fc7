// Makes, checks and undoes changes of a float model that preserve its function.
#pragma once

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/inputs/weights/float_weights.hpp"
#include "core/pass/channel_scale.hpp"
#include "core/pass/logit_probe.hpp"
#include "core/plugin/handles/transform_handle.hpp"
#include "quench/abi/kind/transform.h"

namespace quench {

// One change, with the plugin's name for it.
struct ModelChange {
  std::string name;  // "model.layers.0.self_attn.q_proj"
  std::string how;   // "folded", "explicit", "skipped: ..."
};

struct ModelEdits {
  std::vector<ModelChange> changes;
  InputScales scales;   // scales that could not be folded
  double distance = 0;  // distance of the logits from the original ones
};

// Makes the changes in `apply` (which may be called several times, and throws Error), saves the
// replaced weights in `kept`, and compares the model's logits. If they differ by more than the
// rounding of the weights explains, restores everything and throws Error(NUMERICAL) naming the
// first change after which they do. `who`: "transform rotation".
ModelEdits edit_model(ModelHandle& model, const std::string& who,
                      const std::function<void(const quench_model_editor&)>& apply,
                      const CalibrationRows* calibration, FloatWeights& kept);

// Shows the transform the float model's activations, if it wants them, and lets it change the
// model. `kept` has the weights that it replaces. Throws what edit_model throws, and
// FAILED_PRECONDITION for a transform that needs activations if there is no calibration.
ModelEdits apply_transform(ModelHandle& model, TransformHandle& transform,
                           const CalibrationRows* calibration, FloatWeights& kept);

// The record's description: changes by name, the number of each kind, how far the logits moved.
nlohmann::json describe_edits(const ModelEdits& edits);

}  // namespace quench
