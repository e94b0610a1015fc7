// The state dict inside an interpreted pickle.
#pragma once

#include <string>
#include <vector>

#include "core/checkpoint/pickle_value.hpp"

namespace quench {

struct NamedPickleTensor {
  std::string name;
  uint32_t tensor = 0;  // index into PickleGraph::tensors
};

// The tensors of the dict under `state_dict`, or of the root dict where there is no such key, in
// their order. Nested dicts are flattened with '.'; entries that are not tensors are passed over.
// `name` begins every message. Throws Error(INVALID_ARGUMENT).
std::vector<NamedPickleTensor> find_state(const PickleGraph& graph, const std::string& name);

}  // namespace quench
