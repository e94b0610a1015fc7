#include "models/mamba/composed_scan.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <vector>

#include "models/decoder/differentiable.hpp"
#include "models/mamba/linear_recurrence.hpp"

namespace quench::mamba {

namespace {

// The part of a scan in some channels. B and C belong to all of them.
StateSpace part_of(const StateSpace& space, int64_t first, int64_t count) {
  return {space.a_log.narrow(0, first, count), space.skip.narrow(0, first, count)};
}

ScanInput part_of(const ScanInput& input, int64_t first, int64_t count) {
  return {input.u.narrow(1, first, count), input.step.narrow(1, first, count), input.bc,
          input.gate.narrow(1, first, count)};
}

// Calls body(first, count) for slabs of channels with at most that many states, or one channel.
template <typename Body>
void for_slabs(const StateSpace& space, int64_t tokens, int64_t slab_states, Body&& body) {
  const int64_t channels = space.a_log.size(0);
  const int64_t each = std::max<int64_t>(1, tokens * space.a_log.size(1));
  const int64_t slab = std::max<int64_t>(1, slab_states / each);
  for (int64_t first = 0; first < channels; first += slab) {
    body(first, std::min(slab, channels - first));
  }
}

at::Tensor as_leaf(const at::Tensor& part) {
  return part.detach().requires_grad_(true);
}

}  // namespace

at::Tensor composed_scan(const StateSpace& space, const ScanInput& input,
                         const SharedPredecessors& predecessors) {
  const int64_t tokens = input.u.size(0);
  const int64_t channels = space.a_log.size(0);
  const int64_t states = space.a_log.size(1);
  const at::Tensor decay = decoder::exponential_of(space.a_log).neg();
  const at::Tensor step = at::softplus(input.step);
  const at::Tensor b = input.bc.narrow(1, 0, states).unsqueeze(1);
  const at::Tensor c = input.bc.narrow(1, states, states).unsqueeze(1);
  const at::Tensor powers = decoder::exponential_of(step.unsqueeze(2).mul(decay));
  const at::Tensor inputs = step.mul(input.u).unsqueeze(2).mul(b);
  const at::Tensor s = linear_recurrence(powers.view({tokens, channels * states}),
                                         inputs.view({tokens, channels * states}), predecessors)
                           .view({tokens, channels, states});
  const at::Tensor seen = s.mul(c).sum({2}).add(input.u.mul(space.skip));
  return seen.mul(input.gate.mul(at::sigmoid(input.gate)));
}

at::Tensor scan_by_slabs(const StateSpace& space, const ScanInput& input,
                         const SharedPredecessors& predecessors, int64_t slab_states) {
  const at::Tensor y = at::empty_like(input.u);
  for_slabs(space, input.u.size(0), slab_states, [&](int64_t first, int64_t count) {
    y.narrow(1, first, count)
        .copy_(composed_scan(part_of(space, first, count), part_of(input, first, count),
                             predecessors));
  });
  return y;
}

ScanInput scan_backward_by_slabs(const StateSpace& space, const ScanInput& input,
                                 const SharedPredecessors& predecessors, const at::Tensor& dy,
                                 const SpaceGradients& to, int64_t slab_states) {
  const ScanInput made = {at::empty_like(input.u), at::empty_like(input.step),
                          at::zeros_like(input.bc), at::empty_like(input.gate)};
  for_slabs(space, input.u.size(0), slab_states, [&](int64_t first, int64_t count) {
    const StateSpace weights = part_of(space, first, count);
    const ScanInput values = part_of(input, first, count);
    const std::vector<at::Tensor> leaves = {as_leaf(values.u),      as_leaf(values.step),
                                            as_leaf(values.bc),     as_leaf(values.gate),
                                            as_leaf(weights.a_log), as_leaf(weights.skip)};
    at::Tensor y;
    {
      const at::AutoGradMode recorded(true);
      y = composed_scan({leaves[4], leaves[5]}, {leaves[0], leaves[1], leaves[2], leaves[3]},
                        predecessors);
    }
    const std::vector<at::Tensor> found =
        torch::autograd::grad({y}, leaves, {dy.narrow(1, first, count)});
    made.u.narrow(1, first, count).copy_(found[0]);
    made.step.narrow(1, first, count).copy_(found[1]);
    made.bc.add_(found[2]);
    made.gate.narrow(1, first, count).copy_(found[3]);
    if (to.a_log.defined()) {
      to.a_log.narrow(0, first, count).add_(found[4]);
    }
    if (to.skip.defined()) {
      to.skip.narrow(0, first, count).add_(found[5]);
    }
  });
  return made;
}

}  // namespace quench::mamba
