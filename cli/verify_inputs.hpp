// What the records of a run were measured from, against what lies there now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace quench {

struct InputFaults {
  uint64_t checked = 0;              // cells all of whose inputs were hashed again
  std::vector<std::string> faults;   // what changed since, one line for each input
  std::vector<std::string> unknown;  // what cannot be hashed, with the reason and the cells
};

// Hashes the inputs of the run's cells, believing nothing that is remembered of files, and compares
// with the keys' parts in its records. Throws UsageError where the run's manifest cannot be read.
InputFaults verify_inputs(const std::string& run, Context& context);

}  // namespace quench
