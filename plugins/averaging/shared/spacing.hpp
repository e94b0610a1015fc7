// Which checkpoints of a branch lie a given number of steps apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quench/abi/kind/averaging.h"

namespace quench::averaging {

// The checkpoint before or at members[last] whose step is `step`, or nothing. Members are ordered
// by step.
std::optional<uint64_t> find_step(std::span<const quench_averaging_member> members, uint64_t last,
                                  int64_t step);

// Ascending indices of the `count` checkpoints that end at `last`: consecutive ones when `every` is
// 0, else those `every` steps apart. Throws kit::Error(FAILED_PRECONDITION) naming what is missing.
std::vector<uint64_t> spaced_members(std::span<const quench_averaging_member> members,
                                     uint64_t last, uint64_t count, int64_t every);

}  // namespace quench::averaging
