// Finds the checkpoints of a branch that lie a given number of steps apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quench/abi/kind/averaging.h"

namespace quench::averaging {

// The checkpoint with step `step` at or before members[last], or nothing. Members are ordered by
// step.
std::optional<uint64_t> find_step(std::span<const quench_averaging_member> members, uint64_t last,
                                  int64_t step);

// Ascending indices of `count` checkpoints that end at `last`: consecutive if `every` is 0,
// otherwise `every` steps apart. Throws kit::Error(FAILED_PRECONDITION) that names what is missing.
std::vector<uint64_t> spaced_members(std::span<const quench_averaging_member> members,
                                     uint64_t last, uint64_t count, int64_t every);

}  // namespace quench::averaging
