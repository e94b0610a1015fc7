// Storages and tensors out of the plain values with which a pickle describes them.
#pragma once

#include <string>
#include <vector>

#include "formats/torch_archive/pickle_value.hpp"

namespace quench::formats {

// What is wrong with a value; who interprets the pickle knows where.
struct PickleFault {
  std::string what;
};

// The storage of a persistent id, ('storage', type, key, location, elements). Throws PickleFault.
PickleValue storage_of(const PickleGraph& graph, const PickleValue& id);

// The tensor of _rebuild_tensor_v2's arguments, which lies inside its storage. Throws PickleFault.
PickleTensor tensor_of(const PickleGraph& graph, const std::vector<PickleId>& arguments);

}  // namespace quench::formats
