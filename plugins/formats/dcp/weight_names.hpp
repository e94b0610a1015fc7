// Which tensors of a distributed checkpoint are the model's weights, and what the model calls them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quench::formats {

// Where a tensor stood in the state dict that was saved. Of `model.layers.0.weight` this is
// {"model", "layers.0.weight"} if a trainer put the model's state dict under the key `model`, and
// {"model.layers.0.weight"} if the model itself calls it so.
struct StatePath {
  std::string_view fqn;
  std::vector<std::string> keys;
};

// For each tensor its name in the model, or nothing: of the dict under `state_dict`, `model` or
// `model_state_dict`, at the root or in a dict that holds everything; else of the root, except for
// what stands under a key of its own (an optimizer's state) or is called so. Names lose what
// wrappers of torch add. Throws Error(INVALID_ARGUMENT) with `where` if there are none.
std::vector<std::optional<std::string>> weight_names(std::vector<StatePath> tensors,
                                                     const std::string& where);

}  // namespace quench::formats
