#include "models/mamba/linear_recurrence.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "models/decoder/dual.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::mamba {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr uint64_t kColumns = 1024;  // per task

// Forward: s_t = x_t + a_t s_before(t). Backward, its transpose in x: g_t = d_t + the sum of a_c
// g_c over the tokens c behind t.
enum class Direction : int64_t { kForward, kBackward };

template <typename T>
void run_columns(const Predecessors& tokens, Direction direction, int64_t columns, const T* a,
                 const T* x, T* s, int64_t begin, int64_t end) {
  const int64_t length = tokens.length();
  for (int64_t row = 0; row < tokens.rows(); ++row) {
    const int32_t* before = tokens.before(row);
    const int64_t first = row * length * columns;
    if (direction == Direction::kForward) {
      for (int64_t t = 0; t < length; ++t) {
        const int64_t at = first + t * columns;
        std::copy(x + at + begin, x + at + end, s + at + begin);
        if (before[t] >= 0) {
          const int64_t from = first + before[t] * columns;
          for (int64_t c = begin; c < end; ++c) {
            s[at + c] += a[at + c] * s[from + c];
          }
        }
      }
      continue;
    }
    for (int64_t t = 0; t < length; ++t) {
      const int64_t at = first + t * columns;
      std::copy(x + at + begin, x + at + end, s + at + begin);
    }
    for (int64_t t = length - 1; t >= 0; --t) {
      const int64_t at = first + t * columns;
      if (before[t] >= 0) {
        const int64_t to = first + before[t] * columns;
        for (int64_t c = begin; c < end; ++c) {
          s[to + c] += a[at + c] * s[at + c];
        }
      }
    }
  }
}

// x [N, M] with a last row of zeros, for tokens without one before.
at::Tensor padded(const at::Tensor& x) {
  const at::Tensor rows = at::zeros({x.size(0) + 1, x.size(1)}, x.options());
  rows.narrow(0, 0, x.size(0)).copy_(x);
  return rows;
}

// By operations of libtorch. Let P x be the rows of the tokens before: s = (1 - a P)^-1 x is the
// product of 1 + (a P)^(2^k) over all k, as long as 2^k is shorter than the longest run of tokens;
// backward is the transpose. What comes from d of T tokens before is rounded at most d + log2(T)
// times, where a loop rounds it 2 d times.
at::Tensor run_by_doubling(const at::Tensor& a, const at::Tensor& x, const Predecessors& tokens,
                           Direction direction) {
  const at::Tensor sums = padded(x);
  const at::Tensor factors = padded(a);
  const at::Tensor s = sums.narrow(0, 0, x.size(0));
  const at::Tensor f = factors.narrow(0, 0, x.size(0));
  at::Tensor before = tokens.indices();  // 2^k tokens before, or N
  const at::Tensor none = at::full({1}, x.size(0), before.options());
  for (int64_t reach = 1; reach < tokens.longest(); reach *= 2) {
    if (direction == Direction::kForward) {
      s.addcmul_(f, sums.index_select(0, before));
    } else {
      sums.index_add_(0, before, f.mul(s));  // what falls on the last row is not read
    }
    f.mul_(factors.index_select(0, before));
    before = at::cat({before, none}).index_select(0, before);
  }
  return s;
}

at::Tensor run(const at::Tensor& a, const at::Tensor& x, const Predecessors& tokens,
               Direction direction) {
  if (!matrix::on_host(x)) {
    return run_by_doubling(a, x, tokens, direction);
  }
  const at::Tensor factors = a.contiguous();
  const at::Tensor inputs = x.contiguous();
  const at::Tensor s = at::empty(inputs.sizes(), inputs.options());
  const int64_t columns = inputs.size(1);
  const auto all = [&](auto type) {
    using T = decltype(type);
    const auto* from = factors.const_data_ptr<T>();
    const auto* add = inputs.const_data_ptr<T>();
    auto* to = s.mutable_data_ptr<T>();
    kit::parallel_for(static_cast<uint64_t>(columns), kColumns, [&](uint64_t begin, uint64_t end) {
      run_columns<T>(tokens, direction, columns, from, add, to, static_cast<int64_t>(begin),
                     static_cast<int64_t>(end));
    });
  };
  inputs.scalar_type() == at::kDouble ? all(double{}) : all(float{});
  return s;
}

at::Tensor recurrence(const at::Tensor& a, const at::Tensor& x, const SharedPredecessors& tokens,
                      Direction direction);

// The operands with their tangents, saved for a backward; not variables of the graph.
struct Saved {
  at::Tensor a;
  at::Tensor x;
};

// With g the derivative by x, the derivative by a_t is g_t s_before(t) forward and, since the
// transpose runs from t to before(t), the same product with both names exchanged backward.
struct Recurrence : torch::autograd::Function<Recurrence> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& a, const at::Tensor& x,
                            const Saved& saved, const SharedPredecessors& tokens,
                            Direction direction) {
    context->saved_data["a"] = saved.a;
    context->saved_data["x"] = saved.x;
    context->saved_data["tokens"] = c10::IValue::make_capsule(tokens);
    context->saved_data["direction"] = static_cast<int64_t>(direction);
    return run(a, x, *tokens, direction);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor a = context->saved_data["a"].toTensor();
    const at::Tensor x = context->saved_data["x"].toTensor();
    const auto tokens =
        c10::static_intrusive_pointer_cast<Predecessors>(context->saved_data["tokens"].toCapsule());
    const auto direction = static_cast<Direction>(context->saved_data["direction"].toInt());
    const bool forwards = direction == Direction::kForward;
    const at::Tensor by_x =
        recurrence(a, gradients[0], tokens, forwards ? Direction::kBackward : Direction::kForward);
    variable_list made(5);
    made[1] = by_x;
    if (context->needs_input_grad(0)) {
      const at::Tensor s = recurrence(a, x, tokens, direction);
      made[0] = forwards ? by_x.mul(tokens->shifted(s)) : s.mul(tokens->shifted(by_x));
    }
    return made;
  }
};

at::Tensor recurrence(const at::Tensor& a, const at::Tensor& x, const SharedPredecessors& tokens,
                      Direction direction) {
  const decoder::Dual factor(a);
  const decoder::Dual input(x);
  const at::Tensor value =
      at::GradMode::is_enabled()
          ? Recurrence::apply(factor.value, input.value, Saved{a, x}, tokens, direction)
          : run(factor.value, input.value, *tokens, direction);
  at::Tensor moved = input.tangent;
  if (factor.tangent.defined()) {
    const at::Tensor part = direction == Direction::kForward
                                ? factor.tangent.mul(tokens->shifted(value))
                                : tokens->gathered_back(factor.tangent.mul(value));
    moved = moved.defined() ? moved.add(part) : part;
  }
  return decoder::with_tangent(
      value, moved.defined() ? recurrence(factor.value, moved, tokens, direction) : at::Tensor());
}

}  // namespace

at::Tensor linear_recurrence(const at::Tensor& a, const at::Tensor& x,
                             const SharedPredecessors& predecessors) {
  return recurrence(a, x, predecessors, Direction::kForward);
}

}  // namespace quench::mamba
