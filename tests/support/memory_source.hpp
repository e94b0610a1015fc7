// A tensor source over tensors in memory, for tests of plugins that read one.
#pragma once

#include "promises/memory_source.hpp"

namespace quench::test {

using promises::MemorySource;

}  // namespace quench::test
