// Checks that what trainings left is what they wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/store/sealed_folder.hpp"

namespace quench {

struct TrainedFaults {
  uint64_t checked = 0;             // folders
  std::vector<std::string> faults;  // one line each
};

// Checks all checkpoints, states, sums of averages and packed corpora of a home, in the order of
// their names. Changes nothing. Throws Error: CANCELLED on request, FAILED_PRECONDITION if a folder
// cannot be listed.
TrainedFaults verify_trained(const std::filesystem::path& home, Depth depth);

}  // namespace quench
