// What derivatives are through ops that round inputs of linears, and keys and values.
#pragma once

#include <string>

#include "tests/plugins/models/model_driver.hpp"

namespace quench::test {

// Every linear multiplies inputs of 8 bits by a weight of 4, and every block keeps keys and values
// of 4, as quantizers round them. In float64 the recorded loss is that of the ops; gradients, those
// of blocks and all curvatures are those of differences in which what each rounding added stays as
// it was. In float32 and with bfloat16 products a gradient is near. Heads of 8.
void differentiates_through_ops(const std::string& config, const MemorySource& source,
                                const Tokens& tokens);

}  // namespace quench::test
