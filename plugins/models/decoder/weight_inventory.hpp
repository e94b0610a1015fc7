// Compares the tensors of a source with those a family declares, before reading any.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/decoder/weights.hpp"

namespace quench::decoder {

// The source index of each declared tensor, in the order of `specs`. `names` maps every name and
// alias to its spec. Throws one DATA_LOSS error that names all tensors that do not fit. A tensor
// that is present under several names must have equal values under each.
std::vector<uint64_t> take_inventory(const kit::Source& source, std::span<const WeightSpec> specs,
                                     const std::unordered_map<std::string, size_t>& names,
                                     std::span<const std::string> ignorable);

}  // namespace quench::decoder
