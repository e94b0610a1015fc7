// The state dict inside an interpreted pickle.
#pragma once

#include <string>
#include <vector>

#include "formats/torch_archive/pickle_value.hpp"

namespace quench::formats {

struct NamedPickleTensor {
  std::string name;
  uint32_t tensor = 0;  // index into PickleGraph::tensors
};

// The tensors of the dict under `state_dict`; else, where the root holds no tensor itself, of the
// dict under `model` or `model_state_dict`; else of the root: in their order, so that a trainer's
// optimizer and schedule are left alone. Nested dicts are flattened with '.'; entries that are not
// tensors are passed over. Names lose what wrappers add: "_orig_mod." anywhere, "module." in front
// of all.
// `name` begins every message. Throws Error(INVALID_ARGUMENT).
std::vector<NamedPickleTensor> find_state(const PickleGraph& graph, const std::string& name);

// The tensor that is the root, under the name `tensor`. Throws as find_state.
std::vector<NamedPickleTensor> lone_tensor(const PickleGraph& graph, const std::string& name,
                                           const std::string& tensor);

}  // namespace quench::formats
