// Rotary position embedding by a kernel of ours, where libtorch would take a dozen.
#pragma once

#include "models/decoder/rotary.hpp"

namespace quench::decoder {

// Whether there is a kernel for these tensors: not for other types, for 2^32 pairs and more, or on
// a GPU where kernels.so is not there.
bool has_rotation_kernel(const at::Tensor& x, const Angles& angles);

// Rotates x [B,T,H,D], of inner stride 1, in place, with the bits of libtorch's operations. False,
// and nothing is done, where there is no such kernel. In host memory the kernel is loops.
bool rotate_by_kernel(const at::Tensor& x, const Angles& angles);

}  // namespace quench::decoder
