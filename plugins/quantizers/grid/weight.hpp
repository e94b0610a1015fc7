// The weight of a linear as a quantizer reads it.
#pragma once

#include <ATen/core/Tensor.h>

#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// The weight [out, in] in host memory, C order, float32 or float64; without a copy where it lies so
// already. Refuses other dtypes and shapes, and NaN and Inf (NUMERICAL, with name and index).
at::Tensor host_weight(const kit::LinearToQuantize& linear);

// The linear stays in float: hands `weight` on, and says so in the record, as 16 bits a weight.
void keep_float(const at::Tensor& weight, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink);

}  // namespace quench::quantizers
