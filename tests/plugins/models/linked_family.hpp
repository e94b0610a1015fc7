// The model families that are linked into a test's program.
#pragma once

#include <string>

#include "quench/abi/kind/model.h"

namespace quench::test {

// The table of the family that a config is for, by its model_type; of the only one, whatever the
// config says, in a program that has one.
const quench_model_table& linked_family(const std::string& config);

}  // namespace quench::test
