// What a tensor source has against what a family declared, before anything is read.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/decoder/weights.hpp"

namespace quench::decoder {

// Index in the source of each declared tensor, in the order of `specs`. `names` maps every name and
// alias to its spec. Throws one DATA_LOSS error that names all that does not fit; a tensor that is
// there under several names must have the same values under each.
std::vector<uint64_t> take_inventory(const kit::Source& source, std::span<const WeightSpec> specs,
                                     const std::unordered_map<std::string, size_t>& names,
                                     std::span<const std::string> ignorable);

}  // namespace quench::decoder
