// The causal convolution of each channel with its own taps, and the silu behind it.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/mamba/predecessors.hpp"

namespace quench::mamba {

struct Convolution {
  at::Tensor weight;  // [C, 1, taps]; the last tap meets the token itself
  at::Tensor bias;    // [C] or undefined
};

// silu(bias + sum over k of weight[taps-1-k] * x of the k-th token before) of x [N, C], whose rows
// may be parts of longer ones -> [N, C]. Written into `into`, contiguous and apart from x, if that
// is defined and there is no AutogradScope. Rows without an input are 0.
at::Tensor convolve(const Convolution& convolution, const at::Tensor& x,
                    const SharedPredecessors& predecessors, const at::Tensor& into = {});

}  // namespace quench::mamba
