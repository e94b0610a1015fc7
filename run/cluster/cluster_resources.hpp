// What a task asks for where the manifest says nothing: from what `quench plan` expects, with room
// for its errors.
#pragma once

#include <cstdint>

namespace quench {

inline constexpr uint64_t kUsualCpus = 4;

// A quarter more than predicted, in whole GiB, at least 1 GiB.
uint64_t requested_memory(uint64_t predicted_bytes);

// Twice what is expected of the longest share, in steps of 10 minutes, at least 30 minutes: a task
// that takes longer is stopped and put back into the queue, which costs little.
uint64_t requested_seconds(double expected_seconds);

}  // namespace quench
