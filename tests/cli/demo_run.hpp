// A made-up run that looks like a real one: a trunk at a constant learning rate, two forks that
// decay it, averages of the trunk, two methods at 3 and 4 bits, calibration draws and jitter at
// some checkpoints, one failed cell, and layers that needed help.
#pragma once

#include <filesystem>
#include <vector>

#include "core/store/record.hpp"

namespace quench::test {

struct DemoOptions {
  bool failures = true;            // one failed cell, fallbacks in some layers
  uint32_t draws = 3;              // at the first and the last checkpoint of each branch
  uint32_t jitter = 2;             // there too
  uint32_t items = 64;             // validation blocks
  std::string branch = "decay12";  // name of the last fork
};

// Its records, and documents with a report section of four figures and two contrasts, as files of
// a run's folder.
void write_demo_run(const std::filesystem::path& folder, const DemoOptions& options = {});

}  // namespace quench::test
