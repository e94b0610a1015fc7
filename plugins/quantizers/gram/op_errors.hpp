// What an op that replaces a linear costs on the calibration rows, weight and inputs apart.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "quantizers/gram/gram.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// Records "weight_error", of `decoded` in the weight's place over all rows: squared outputs of the
// difference, relative to the squared outputs. Nothing without rows.
void report_weight_error(const at::Tensor& weight, const at::Tensor& decoded, Gram& gram,
                         kit::QuantizeSink& sink);

// y [R, out] = op(x [R, in]), float32; the rows of one call are one batch.
using ApplyOp = std::function<void(const at::Tensor& x, const at::Tensor& y)>;

// Records, on the sample as one batch and relative to the squared outputs of the float linear,
// "activation_error": of the op's outputs and those of the float rows times `decoded`; and
// "both_errors": of the op's outputs and those of the float linear. `sample` is float32.
void report_activation_errors(const at::Tensor& weight, const at::Tensor& decoded,
                              const at::Tensor& sample, const ApplyOp& apply,
                              kit::QuantizeSink& sink);

}  // namespace quench::quantizers
