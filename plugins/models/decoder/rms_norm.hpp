// Root-mean-square norm (Zhang and Sennrich 2019): y = x / sqrt(mean(x^2) + eps) * weight.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// Whether x / rms is rounded to the model's dtype before it is multiplied by the weight (Llama), or
// only the product is (OLMo2). It is the same in float32 and float64.
enum class NormRounding { kBeforeWeight, kAfterWeight };

// Each row of x [..., C], contiguous, into a tensor of the same shape, which is returned: `into`,
// where it is defined and no AutogradScope is, else a new one. `into` may be x. weight [C]. Squares
// are summed in float64 in a fixed order, the rest is float32 or, for a float64 x, float64.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                    NormRounding rounding, const at::Tensor& into = {});

}  // namespace quench::decoder
