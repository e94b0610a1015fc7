// s_t = a_t s_before(t) + x_t for every token t, of every column on its own.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/mamba/predecessors.hpp"

namespace quench::mamba {

// a and x [N, M], float32 or float64 -> s [N, M]. Differentiable any number of times in reverse
// mode and once more in forward mode: its derivatives are recurrences themselves.
at::Tensor linear_recurrence(const at::Tensor& a, const at::Tensor& x,
                             const SharedPredecessors& predecessors);

}  // namespace quench::mamba
