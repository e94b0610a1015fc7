// With S = s q kᵀ, P = softmax(S) and y = P v, s = 1 / sqrt(D), the derivatives are
//   dP = dy vᵀ,  E = dP - Σ P dP,  dq = s (P∘E) k,  dk = s (P∘E)ᵀ q,  dv = Pᵀ dy,
// where Σ runs over the keys of a query. A cap makes c = cap tanh(S / cap) of the scores, whose
// slope 1 - (c / cap)² then multiplies P∘E. The backward recomputes P block by block from the
// scores and from each query's largest score and sum, which the forward keeps.
#include "models/decoder/blocked_attention.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "models/decoder/activation_kernels.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/head_products.hpp"
#include "models/decoder/softmax_kernels.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/buffer.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Operands {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor mask;
  double cap;
};

// x converted to `type`, with unit stride within each head.
at::Tensor plain(const at::Tensor& x, at::ScalarType type) {
  if (x.scalar_type() == type && x.stride(3) == 1) {
    return x;
  }
  const at::Tensor made = at::empty(x.sizes(), x.options().dtype(type));
  copy_rows(x.flatten(0, 1), made.flatten(0, 1));
  return made;
}

at::ScalarType wide_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// For each query [B,H,T,2]: the largest score, and one over the sum of e^(score - largest).
at::Tensor empty_sums(const at::Tensor& q) {
  return at::empty({q.size(0), q.size(2), q.size(1), 2}, q.options());
}

template <typename T>
T* sums_of(const at::Tensor& sums, int64_t row, int64_t head, int64_t query) {
  return sums.mutable_data_ptr<T>() +
         ((row * sums.size(1) + head) * sums.size(2) + query) * sums.size(3);
}

// Scores of a block of queries against the keys that they see.
template <typename T>
void score(const CausalBlock& block, Rows<const T> q, Rows<const T> k, double scale, double cap,
           Rows<T> scores) {
  block.scores<T>(q, k, scores, scale, false);
  for (int64_t i = 0; cap > 0.0 && i < block.count; ++i) {
    T* own = scores.from(i).data;
    kernel::soft_cap(static_cast<size_t>(block.first + i + 1), static_cast<T>(cap), own, own);
  }
}

// What a change of the score before the cap does to it.
template <typename T>
void slopes(const T* capped, double cap, size_t count, std::vector<T>& to) {
  to.resize(count);
  for (size_t j = 0; j < count; ++j) {
    const T part = capped[j] / static_cast<T>(cap);
    to[j] = T(1) - part * part;
  }
}

template <typename T>
at::Tensor forward_of(const Operands& of, const at::Tensor& sums) {
  const Queries queries(of.q, of.mask);
  const int64_t share = queries.heads / of.k.size(2);
  at::Tensor y =
      at::empty({queries.batch, queries.length, queries.heads, queries.width}, of.q.options());
  queries.each_head(queries.heads, [&](int64_t row, int64_t head) {
    const matrix::Buffer memory(std::min(kQueries, queries.length) * queries.length *
                                static_cast<int64_t>(sizeof(T)));
    const auto keys = head_of<T>(of.k, row, head / share);
    const auto values = head_of<T>(of.v, row, head / share);
    queries.each_block([&](int64_t first, int64_t count, int64_t seen) {
      const Rows<T> p = {memory.as<T>(), seen};
      const CausalBlock block = {first, count, queries.width};
      score<T>(block, head_of<T>(of.q, row, head).from(first), keys, queries.scale, of.cap, p);
      for (int64_t i = 0; i < count; ++i) {
        T* own = p.from(i).data;
        const auto before = static_cast<size_t>(queries.hide(own, row, first + i));
        const T peak = kernel::largest(own, before);
        const T inverse = static_cast<T>(1.0 / kernel::exponentiate(own, peak, before));
        kernel::scale(own, inverse, before);
        std::fill(own + before, own + seen, T{0});
        if (sums.defined()) {
          T* kept = sums_of<T>(sums, row, head, first + i);
          kept[0] = peak;
          kept[1] = inverse;
        }
      }
      block.weigh<T>(p, values, result_of<T>(y, row, head).from(first), 1, false);
    });
  });
  return y;
}

// A task takes a key head and, one after the other, the query heads that read it, so that sums for
// keys and values have one order.
template <typename T>
variable_list backward_of(const at::Tensor& dy, const Operands& of, const at::Tensor& sums) {
  const Queries queries(of.q, of.mask);
  const int64_t key_heads = of.k.size(2);
  const int64_t share = queries.heads / key_heads;
  variable_list made = {at::empty(dy.sizes(), of.q.options()),
                        at::zeros(of.k.sizes(), of.k.options()),
                        at::zeros(of.k.sizes(), of.k.options())};
  const auto differentiate = [&](int64_t row, int64_t head, int64_t first, int64_t count,
                                 int64_t seen, Rows<T> p, Rows<T> e) {
    const auto own = head_of<T>(of.q, row, head).from(first);
    const auto back = head_of<T>(dy, row, head).from(first);
    const auto keys = head_of<T>(of.k, row, head / share);
    const CausalBlock block = {first, count, queries.width};
    score<T>(block, own, keys, queries.scale, of.cap, p);
    block.scores<T>(back, head_of<T>(of.v, row, head / share), e, 1, false);
    std::vector<T> bends;  // of a row's scores
    for (int64_t i = 0; i < count; ++i) {
      T* likely = p.from(i).data;
      T* error = e.from(i).data;
      if (of.cap > 0.0) {
        slopes(likely, of.cap, static_cast<size_t>(first + i + 1), bends);
      }
      const auto before = static_cast<size_t>(queries.hide(likely, row, first + i));
      const T* kept = sums_of<T>(sums, row, head, first + i);
      kernel::exponentiate(likely, kept[0], before);
      kernel::scale(likely, kept[1], before);
      std::fill(likely + before, likely + seen, T{0});
      kernel::center(likely, error, error, before);
      for (size_t j = 0; j < bends.size(); ++j) {
        error[j] *= bends[j];
      }
      std::fill(error + before, error + seen, T{0});
    }
    block.weigh<T>(e, keys, result_of<T>(made[0], row, head).from(first), queries.scale, false);
    block.add_backwards<T>(e, own, result_of<T>(made[1], row, head / share), queries.scale);
    block.add_backwards<T>(p, back, result_of<T>(made[2], row, head / share), 1);
  };
  queries.each_head(key_heads, [&](int64_t row, int64_t key_head) {
    const int64_t block = std::min(kQueries, queries.length) * queries.length;
    const matrix::Buffer memory(2 * block * static_cast<int64_t>(sizeof(T)));
    for (int64_t head = key_head * share; head < (key_head + 1) * share; ++head) {
      queries.each_block([&](int64_t first, int64_t count, int64_t seen) {
        differentiate(row, head, first, count, seen, {memory.as<T>(), seen},
                      {memory.as<T>() + block, seen});
      });
    }
  });
  return made;
}

at::Tensor run(const Operands& of, const at::Tensor& sums) {
  return of.q.scalar_type() == at::kDouble ? forward_of<double>(of, sums)
                                           : forward_of<float>(of, sums);
}

Operands widened(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const at::Tensor& mask, double cap) {
  const at::ScalarType wide = wide_type(q);
  return {plain(q, wide), plain(k, wide), plain(v, wide), mask, cap};
}

// Not a variable of the graph. Undefined if every token sees all earlier ones.
struct Mask {
  at::Tensor visible;
};

struct BlockedAttention : torch::autograd::Function<BlockedAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const Mask& mask, double cap) {
    const Operands of = widened(q, k, v, mask.visible, cap);
    const at::Tensor sums = empty_sums(of.q);
    context->saved_data["q"] = of.q;
    context->saved_data["k"] = of.k;
    context->saved_data["v"] = of.v;
    context->saved_data["mask"] = mask.visible;
    context->saved_data["cap"] = cap;
    context->saved_data["sums"] = sums;
    context->saved_data["type"] = static_cast<int64_t>(q.scalar_type());
    return plain(run(of, sums), q.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = [context](const char* name) { return context->saved_data[name].toTensor(); };
    const Operands of = {saved("q"), saved("k"), saved("v"), saved("mask"),
                         context->saved_data["cap"].toDouble()};
    const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    const at::Tensor dy = plain(gradients[0], of.q.scalar_type());
    variable_list made = dy.scalar_type() == at::kDouble
                             ? backward_of<double>(dy, of, saved("sums"))
                             : backward_of<float>(dy, of, saved("sums"));
    for (at::Tensor& gradient : made) {
      gradient = plain(gradient, type);
    }
    made.resize(5);
    return made;
  }
};

}  // namespace

bool has_blocked_attention(const at::Tensor& q) {
  return matrix::on_host(q) && q.numel() > 0;
}

at::Tensor blocked_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const at::Tensor& mask, double cap) {
  if (at::GradMode::is_enabled() && q.requires_grad()) {
    return BlockedAttention::apply(q, k, v, Mask{mask}, cap);
  }
  return plain(run(widened(q, k, v, mask, cap), {}), q.scalar_type());
}

}  // namespace quench::decoder
