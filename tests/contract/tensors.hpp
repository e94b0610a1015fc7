// The plugins that a contract suite goes through.
#pragma once

#include <vector>

#include "quench/abi/module.h"

namespace quench::test {

// The items of a ":"-separated list of libraries, all of that kind.
std::vector<const quench_item*> items_of(const char* libraries, const char* kind);

}  // namespace quench::test
