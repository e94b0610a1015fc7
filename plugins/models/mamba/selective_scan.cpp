#include "models/mamba/selective_scan.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/mamba/composed_scan.hpp"
#include "models/mamba/scan_kernels.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::mamba {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr uint64_t kGroup = 4 * kernel::kLanes;  // channels of a task

// A with neighbouring channels side by side, [S, C].
template <typename T>
std::vector<T> turned_decay(const at::Tensor& a_log) {
  const at::Tensor held = a_log.to(at::kDouble);
  const auto* from = held.const_data_ptr<double>();
  const int64_t channels = held.size(0);
  const int64_t states = held.size(1);
  std::vector<T> decay(static_cast<size_t>(channels * states));
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t n = 0; n < states; ++n) {
      decay[static_cast<size_t>(n * channels + c)] =
          static_cast<T>(-std::exp(from[c * states + n]));
    }
  }
  return decay;
}

// The rows of a batch as the kernels take them.
template <typename T>
class ScanRows {
 public:
  ScanRows(const StateSpace& space, const ScanInput& input, const Predecessors& predecessors)
      : input_(input),
        predecessors_(predecessors),
        decay_(turned_decay<T>(space.a_log)),
        skip_(space.skip.to(c10::CppTypeToScalarType<T>::value)),
        channels_(static_cast<uint64_t>(space.a_log.size(0))),
        states_(static_cast<uint64_t>(space.a_log.size(1))) {}

  uint64_t groups() const { return (channels_ + kGroup - 1) / kGroup; }
  uint64_t channels() const { return channels_; }
  uint64_t states() const { return states_; }
  const std::vector<T>& decay() const { return decay_; }

  kernel::Scan<T> row(uint64_t row) const {
    const auto tokens = static_cast<uint64_t>(predecessors_.length());
    const uint64_t first = row * tokens;
    const auto at = [first](const at::Tensor& x) {
      return x.const_data_ptr<T>() + first * static_cast<uint64_t>(x.size(1));
    };
    return {tokens,
            channels_,
            states_,
            predecessors_.before(static_cast<int64_t>(row)),
            predecessors_.places(static_cast<int64_t>(row)),
            static_cast<size_t>(predecessors_.place_count()),
            at(input_.u),
            at(input_.step),
            at(input_.bc),
            at(input_.gate),
            decay_.data(),
            skip_.const_data_ptr<T>()};
  }

  // Calls body(row, group, first, count) for the lanes of every row; those of one group run one
  // after the other.
  template <typename Body>
  void for_lanes(Body&& body) const {
    const auto rows = static_cast<uint64_t>(predecessors_.rows());
    kit::parallel_for(rows * groups(), 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t task = begin; task < end; ++task) {
        const uint64_t group = task % groups();
        const uint64_t last = std::min(channels_, (group + 1) * kGroup);
        for (uint64_t first = group * kGroup; first < last; first += kernel::kLanes) {
          body(task / groups(), group, first, std::min<uint64_t>(kernel::kLanes, last - first));
        }
      }
    });
  }

 private:
  const ScanInput& input_;
  const Predecessors& predecessors_;
  std::vector<T> decay_;
  at::Tensor skip_;
  uint64_t channels_;
  uint64_t states_;
};

template <typename T>
void scan_rows(const StateSpace& space, const ScanInput& input, const Predecessors& predecessors,
               const at::Tensor& y) {
  const ScanRows<T> rows(space, input, predecessors);
  auto* to = y.mutable_data_ptr<T>();
  rows.for_lanes([&](uint64_t row, uint64_t, uint64_t first, uint64_t count) {
    const kernel::Scan<T> scan = rows.row(row);
    const auto memory = std::make_unique_for_overwrite<T[]>(kernel::scan_memory(scan));
    kernel::scan(scan, first, count, memory.get(), to + row * scan.tokens * scan.channels);
  });
}

at::Tensor scan(const StateSpace& space, const ScanInput& input,
                const SharedPredecessors& predecessors, const at::Tensor& into) {
  if (!matrix::on_host(input.u)) {
    const at::Tensor y = scan_by_slabs(space, input, predecessors);
    return into.defined() ? into.copy_(y) : y;
  }
  const at::Tensor y = into.defined() ? into : at::empty(input.u.sizes(), input.u.options());
  if (y.scalar_type() == at::kDouble) {
    scan_rows<double>(space, input, *predecessors, y);
  } else {
    scan_rows<float>(space, input, *predecessors, y);
  }
  return y;
}

// Sums of a batch that every part of it adds to; the parts are added in order.
template <typename T>
void add_parts(const std::vector<T>& parts, uint64_t size, T* to) {
  for (uint64_t i = 0; i < size; ++i) {
    double sum = 0;
    for (uint64_t part = i; part < parts.size(); part += size) {
      sum += static_cast<double>(parts[part]);
    }
    to[i] = static_cast<T>(sum);
  }
}

// By A_log: A = -exp(A_log) is its own derivative.
template <typename T>
void add_space_gradients(const ScanRows<T>& rows, const std::vector<T>& by_decay,
                         const std::vector<T>& by_skip, const SpaceGradients& to) {
  const uint64_t channels = rows.channels();
  std::vector<T> sums(rows.states() * channels);
  if (to.a_log.defined()) {
    add_parts(by_decay, sums.size(), sums.data());
    auto* target = to.a_log.mutable_data_ptr<T>();
    for (uint64_t c = 0; c < channels; ++c) {
      for (uint64_t n = 0; n < rows.states(); ++n) {
        target[c * rows.states() + n] += sums[n * channels + c] * rows.decay()[n * channels + c];
      }
    }
  }
  if (to.skip.defined()) {
    add_parts(by_skip, channels, sums.data());
    auto* target = to.skip.mutable_data_ptr<T>();
    for (uint64_t c = 0; c < channels; ++c) {
      target[c] += sums[c];
    }
  }
}

template <typename T>
ScanInput scan_backward_rows(const StateSpace& space, const ScanInput& input,
                             const Predecessors& predecessors, const at::Tensor& dy,
                             const SpaceGradients& to) {
  const ScanRows<T> rows(space, input, predecessors);
  const ScanInput made = {at::empty_like(input.u), at::empty_like(input.step),
                          at::empty_like(input.bc), at::empty_like(input.gate)};
  const auto batch = static_cast<uint64_t>(predecessors.rows());
  const auto pairs = static_cast<uint64_t>(input.bc.numel());
  std::vector<T> by_bc(rows.groups() * pairs);
  std::vector<T> by_decay(batch * rows.states() * rows.channels());
  std::vector<T> by_skip(batch * rows.channels());
  rows.for_lanes([&](uint64_t row, uint64_t group, uint64_t first, uint64_t count) {
    const kernel::Scan<T> scan = rows.row(row);
    const uint64_t elements = scan.tokens * scan.channels;
    const auto part = [&](const at::Tensor& x) { return x.mutable_data_ptr<T>() + row * elements; };
    const auto memory = std::make_unique_for_overwrite<T[]>(kernel::scan_backward_memory(scan));
    kernel::scan_backward(scan, dy.const_data_ptr<T>() + row * elements, first, count, memory.get(),
                          {part(made.u), part(made.step), part(made.gate),
                           by_bc.data() + group * pairs + row * scan.tokens * 2 * scan.states,
                           by_decay.data() + row * scan.states * scan.channels,
                           by_skip.data() + row * scan.channels});
  });
  add_parts(by_bc, pairs, made.bc.mutable_data_ptr<T>());
  add_space_gradients(rows, by_decay, by_skip, to);
  return made;
}

ScanInput scan_backward(const StateSpace& space, const ScanInput& input,
                        const SharedPredecessors& predecessors, const at::Tensor& dy,
                        const SpaceGradients& to) {
  if (!matrix::on_host(dy)) {
    return scan_backward_by_slabs(space, input, predecessors, dy, to);
  }
  return dy.scalar_type() == at::kDouble
             ? scan_backward_rows<double>(space, input, *predecessors, dy, to)
             : scan_backward_rows<float>(space, input, *predecessors, dy, to);
}

// The inputs of the scan other than its variables.
struct Operands {
  StateSpace space;
  SpaceGradients gradients;
  SharedPredecessors predecessors;
};

struct TrainedScan : torch::autograd::Function<TrainedScan> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& u, const at::Tensor& step,
                            const at::Tensor& bc, const at::Tensor& gate,
                            const Operands& operands) {
    context->saved_data["u"] = u;
    context->saved_data["step"] = step;
    context->saved_data["bc"] = bc;
    context->saved_data["gate"] = gate;
    context->saved_data["a_log"] = operands.space.a_log;
    context->saved_data["skip"] = operands.space.skip;
    context->saved_data["a_log_gradient"] = operands.gradients.a_log;
    context->saved_data["skip_gradient"] = operands.gradients.skip;
    context->saved_data["predecessors"] = c10::IValue::make_capsule(operands.predecessors);
    return scan(operands.space, {u, step, bc, gate}, operands.predecessors, {});
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = [&](const char* name) { return context->saved_data[name].toTensor(); };
    const ScanInput input = {saved("u"), saved("step"), saved("bc"), saved("gate")};
    const StateSpace space = {saved("a_log"), saved("skip")};
    const SpaceGradients to = {saved("a_log_gradient"), saved("skip_gradient")};
    const auto predecessors = c10::static_intrusive_pointer_cast<Predecessors>(
        context->saved_data["predecessors"].toCapsule());
    const at::Tensor dy = gradients[0].contiguous();
    const ScanInput made = scan_backward(space, input, predecessors, dy, to);
    return {made.u, made.step, made.bc, made.gate, {}};
  }
};

bool is_wide(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
}

}  // namespace

at::Tensor selective_scan(const StateSpace& space, const ScanInput& input,
                          const SharedPredecessors& predecessors, const at::Tensor& into) {
  if (!is_wide(input.u)) {  // y is rounded once
    const auto wide = [](const at::Tensor& x) { return decoder::in_type(x, at::kFloat); };
    return selective_scan({wide(space.a_log), wide(space.skip)},
                          {wide(input.u), wide(input.step), wide(input.bc), wide(input.gate)},
                          predecessors)
        .to(input.u.scalar_type());
  }
  const decoder::AutogradScope* scope = decoder::AutogradScope::current();
  if (scope == nullptr) {
    return scan(space, input, predecessors, into);
  }
  if (scope->mode() == decoder::AutogradMode::kTraining) {
    return TrainedScan::apply(
        input.u.contiguous(), input.step, input.bc.contiguous(), input.gate.contiguous(),
        Operands{space, {scope->gradient(space.a_log), scope->gradient(space.skip)}, predecessors});
  }
  return composed_scan({decoder::tracked(space.a_log), decoder::tracked(space.skip)}, input,
                       predecessors);
}

}  // namespace quench::mamba
