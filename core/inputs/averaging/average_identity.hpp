// Identifies an average without computing it.
#pragma once

#include <string>
#include <vector>

#include "core/inputs/averaging/average_source.hpp"

namespace quench {

// SHA-256 of the plugin's bytes, its parameters, the members' content hashes in their order, the
// ordering of the members by step, tokens and name (see canonical_order), the element type and,
// after a search, the weights it found. Averages with equal identity have bit-identical weights;
// the converse does not hold. A stored copy of an average is identified by its content hash
// instead. The members' sources may be null.
std::string average_identity(const AveragingCell& averaging,
                             const std::vector<AverageMember>& members,
                             const std::vector<std::string>& member_hashes, quench_dtype dtype,
                             const std::vector<double>& weights = {});

}  // namespace quench
