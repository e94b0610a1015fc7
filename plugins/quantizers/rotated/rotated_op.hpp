// An op whose inputs are rotated first.
#pragma once

#include <memory>
#include <string>

#include "quench/abi/kind/model.h"
#include "shared/hadamard/random_hadamard.hpp"

namespace quench::quantizers {

// y = op(x R), of inputs(x R) R', and `op` is released with it. `name` is the linear's, for errors.
// `op` is given rows of float32 or float64, whatever the model's type.
quench_linear_op rotated_op(const quench_linear_op& op,
                            std::shared_ptr<const hadamard::RandomHadamard> rotation,
                            const std::string& name);

}  // namespace quench::quantizers
