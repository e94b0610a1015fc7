// An operation in place of a linear: a quantizer's code that the model's code calls.
#pragma once

#include <string>

#include "quench/abi/kind/model.h"

namespace quench {

// The same operation as a call of the quantizer `label` ("quantizer int8") at `linear`: who looks
// for the plugin at work finds it and not the model, and it leaves the floating-point state as it
// was. Takes `op` over.
quench_linear_op named_op(const quench_linear_op& op, std::string label, std::string linear);

}  // namespace quench
