// Changes of a float model that leave its function as it is: made, checked, taken back.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/pass/channel_scale.hpp"
#include "core/pass/logit_probe.hpp"
#include "core/weights/float_weights.hpp"
#include "quench/abi/kind/transform.h"

namespace quench {

// One change, as its maker calls it.
struct ModelChange {
  std::string name;  // "model.layers.0.self_attn.q_proj"
  std::string how;   // "folded", "explicit", "skipped: ..."
};

struct ModelEdits {
  std::vector<ModelChange> changes;
  InputScales scales;   // of what could not be folded
  double distance = 0;  // of the logits from what they were
};

// Makes the changes in `apply` (which may be called several times, and throws Error), with the
// weights that they replace kept in `kept`, and compares the model's logits. Where they differ by
// more than the rounding of the weights explains, everything is set back and Error(NUMERICAL) names
// the first change after which they do. `who`: "transform rotation".
ModelEdits edit_model(ModelHandle& model, const std::string& who,
                      const std::function<void(const quench_model_editor&)>& apply,
                      const CalibrationRows* calibration, FloatWeights& kept);

}  // namespace quench
