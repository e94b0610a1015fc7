// Reads the weight of a linear for a quantizer.
#pragma once

#include <ATen/core/Tensor.h>

#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// The weight [out, in] in host memory, C order, float32 or float64; without a copy if it already
// is. Throws for other dtypes and shapes, and NUMERICAL with name and index for NaN and Inf.
at::Tensor host_weight(const kit::LinearToQuantize& linear);

// The same in the memory of `device`, which the view may already be in; there NaN and Inf are named
// without an index.
at::Tensor weight_on(const kit::LinearToQuantize& linear, at::Device device);

// Keeps the linear in float: passes `weight` on and records 16 bits per weight.
void keep_float(const at::Tensor& weight, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink);

}  // namespace quench::quantizers
