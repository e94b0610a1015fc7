// The operations of AutogradMode::kDoubleBackward. Each has a written-out forward, backward and
// backward of the backward, in float32 or float64. x is a variable of the graph; weights are
// constants whose derivatives go to the HvpVectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "models/decoder/double_backward/hvp_vectors.hpp"

namespace quench::decoder {

// x [N, in] · weight [out, in]ᵀ + bias [out]. The bias may be undefined.
at::Tensor double_backward_linear(const at::Tensor& x, const at::Tensor& weight,
                                  const at::Tensor& bias, const SharedHvpVectors& vectors);

// Whether a norm subtracts each row's mean before it divides by the row's size.
enum class Centering { kNone, kMean };  // root-mean-square norm, layer norm

// Divides rows of x [..., C] by sqrt(mean(x^2) + eps), multiplies by offset + weight [C] and adds
// bias [C]. Weight and bias may be undefined.
at::Tensor double_backward_norm(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& bias, double eps, Centering centering,
                                const SharedHvpVectors& vectors, double offset = 0.0);

// y = f(x), f'(x) and f''(x) of each element, all in the shape of x.
struct Pointwise {
  at::Tensor y;
  at::Tensor first;
  at::Tensor second;
};
at::Tensor double_backward_pointwise(const at::Tensor& x, const Pointwise& made);

// softmax(q kᵀ / sqrt(D)) v of each head; q, k and v [B,T,H,D]; `mask` as in blocked_attention.hpp.
// Host memory only.
at::Tensor double_backward_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const at::Tensor& mask);

// The derivative of weight * Σ -log softmax(logits)[target] over the rows with a target >= 0:
// weight * (softmax - 1 at the target) in these rows, 0 in the others. logits [N, vocabulary]. Sets
// `loss` to the sum without the weight, in float64.
at::Tensor double_backward_loss_gradient(const at::Tensor& logits, std::span<const int32_t> targets,
                                         double weight, double& loss);

}  // namespace quench::decoder
