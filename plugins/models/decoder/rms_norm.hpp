// Root-mean-square norm (Zhang and Sennrich 2019): y = x / sqrt(mean(x^2) + eps) * (offset +
// weight).
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// Whether x / rms is rounded to the model's dtype before the weight multiplies it (Llama), or only
// the product is rounded (OLMo2). In float32 and float64 both are the same.
enum class NormRounding { kBeforeWeight, kAfterWeight };

// Normalizes each row of x [..., C], contiguous; weight [C]. Returns a tensor of the same shape:
// `into` if it is defined and there is no AutogradScope, otherwise a new one. `into` may be x. The
// offset is added in float32 at least; pass it rather than a tensor 1 + w, whose derivative would
// be lost (derived_weight.hpp).
// Squares are summed in float64 in a fixed order; the rest is float32, or float64 for a float64 x.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                    NormRounding rounding, const at::Tensor& into = {}, double offset = 0.0);

}  // namespace quench::decoder
