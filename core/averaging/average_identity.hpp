// What an average is, without computing it.
#pragma once

#include <string>
#include <vector>

#include "core/averaging/average_source.hpp"

namespace quench {

// SHA-256 over the plugin's bytes, its parameters, the content hashes of the members in their
// order, how step, tokens and name order them (see canonical_order), the element type and, after a
// search, the weights that were found. Averages of one identity have the same weights to the last
// bit; the reverse does not hold. A stored copy of an average has the hash of its content instead.
// The members' sources may be null.
std::string average_identity(const AveragingCell& averaging,
                             const std::vector<AverageMember>& members,
                             const std::vector<std::string>& member_hashes, quench_dtype dtype,
                             const std::vector<double>& weights = {});

}  // namespace quench
