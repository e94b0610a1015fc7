// The weight of a linear as a quantizer reads it.
#pragma once

#include <ATen/core/Tensor.h>

#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// The weight [out, in] in host memory, C order, float32 or float64; without a copy where it lies so
// already. Refuses other dtypes and shapes, and NaN and Inf (NUMERICAL, with name and index).
at::Tensor host_weight(const kit::LinearToQuantize& linear);

}  // namespace quench::quantizers
