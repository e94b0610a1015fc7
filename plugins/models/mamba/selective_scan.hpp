// The selective state space of one block (Gu and Dao 2023, equations 2 and 4, algorithm 2). For
// every channel, with S states and A = -exp(A_log):
//
//   Δ = softplus(step);   s_t = exp(Δ_t A) s_before(t) + Δ_t u_t B_t;   y_t = (C_t s_t + D u_t)
//   silu(gate_t)
//
// States are at least float32, whatever the model's type.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/mamba/predecessors.hpp"

namespace quench::mamba {

struct StateSpace {
  at::Tensor a_log;  // [C, S]
  at::Tensor skip;   // D [C]
};

// The tensors of N tokens, contiguous and of one type.
struct ScanInput {
  at::Tensor u;     // [N, C]
  at::Tensor step;  // [N, C]
  at::Tensor bc;    // [N, 2S]: B, then C
  at::Tensor gate;  // [N, C]
};

// y [N, C], written into `into`, contiguous and apart from all inputs, if that is defined and there
// is no AutogradScope.
at::Tensor selective_scan(const StateSpace& space, const ScanInput& input,
                          const SharedPredecessors& predecessors, const at::Tensor& into = {});

}  // namespace quench::mamba
