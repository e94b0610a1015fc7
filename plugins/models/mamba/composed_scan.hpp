// The selective scan by libtorch's own operations: what can be differentiated any number of times,
// and what computes where the kernels for processors do not.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/mamba/predecessors.hpp"
#include "models/mamba/selective_scan.hpp"

namespace quench::mamba {

// States of a slab of channels. About ten tensors of that many elements live at once: 640 MiB of
// float32.
constexpr int64_t kSlabStates = int64_t{1} << 24;

// y [N, C] with all states [N, C, S] at once; any of the tensors may be variables of a graph.
at::Tensor composed_scan(const StateSpace& space, const ScanInput& input,
                         const SharedPredecessors& predecessors);

// The same without a graph, a slab of channels after the other: channels do not meet in a scan.
at::Tensor scan_by_slabs(const StateSpace& space, const ScanInput& input,
                         const SharedPredecessors& predecessors, int64_t slab_states = kSlabStates);

// Where the derivatives of the weights are added; both may be undefined.
struct SpaceGradients {
  at::Tensor a_log;
  at::Tensor skip;
};

// The derivatives of the sum of y dy by the inputs. Computes each slab again, with a graph.
ScanInput scan_backward_by_slabs(const StateSpace& space, const ScanInput& input,
                                 const SharedPredecessors& predecessors, const at::Tensor& dy,
                                 const SpaceGradients& to, int64_t slab_states = kSlabStates);

}  // namespace quench::mamba
