// An operation that replaces a linear: a quantizer's code that the model's code calls.
#pragma once

#include <string>

#include "quench/abi/kind/model.h"

namespace quench {

// Wraps an operation in a call of the quantizer `label` ("quantizer int8") at `linear`: reports
// about the plugin at work then name it instead of the model, and it leaves the floating-point
// state unchanged. Takes ownership of `op`.
quench_linear_op named_op(const quench_linear_op& op, std::string label, std::string linear);

}  // namespace quench
