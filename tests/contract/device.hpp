// The devices that contracts are held on.
#pragma once

#include <string>

#include "tests/cli/program.hpp"

namespace quench::test {

// Skips the calling test where this machine has no such device ("cpu" or "cuda:0").
void need_device(const Workplace& here, const std::string& device);

// What a record calls it: a GPU by its model and compute capability.
std::string recorded_device(const Workplace& here, const std::string& device);

}  // namespace quench::test
