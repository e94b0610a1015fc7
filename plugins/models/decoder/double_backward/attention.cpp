// Causal attention, one head after the other, in blocks of queries. Of the matrices in between only
// the softmax and its derivative are kept, [B,H,T,T] each.
//
//   S = s q kᵀ,  P = softmax(S),  y = P v;                                 s = 1 / sqrt(D)
//   dP = dy vᵀ,  E = dP - Σ P dP,  dq = s (P∘E) k,  dk = s (P∘E)ᵀ q,  dv = Pᵀ dy.
//
// If q, k, v change by q', k', v', then with S' = s (q' kᵀ + q k'ᵀ) and U = S' - Σ P S':
//   y changes by (P∘U) v + P v';
// and with X = E∘U + dy v'ᵀ and Z = P∘(X - Σ P X), the derivatives of Σ dq·q' + dk·k' + dv·v' are
//   by q: s (Z k + (P∘E) k'),  by k: s (Zᵀ q + (P∘E)ᵀ q'),  by v: (P∘U)ᵀ dy.
// Σ runs over the keys of a query.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <initializer_list>

#include "models/decoder/double_backward/operations.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/head_products.hpp"
#include "models/decoder/softmax_kernels.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The rows of one head of a [B,H,T,T] tensor.
template <typename T>
Rows<T> square_of(const at::Tensor& x, int64_t row, int64_t head) {
  return {x.mutable_data_ptr<T>() + row * x.stride(0) + head * x.stride(1), x.stride(2)};
}

at::Tensor empty_heads(const Queries& queries, const at::Tensor& like) {
  return at::empty({queries.batch, queries.length, queries.heads, queries.width}, like.options());
}

// Sets what lies above the diagonal in row i of a block's matrices to 0.
template <typename T>
void clear_above(const CausalBlock& block, int64_t i, std::initializer_list<Rows<T>> of) {
  for (const Rows<T>& matrix : of) {
    T* row = matrix.from(i).data;
    std::fill(row + block.first + i + 1, row + block.seen(), T{0});
  }
}

// Panels of one head after the other, as many as a task was given room for.
template <typename T>
class HeadPanels {
 public:
  HeadPanels(const Queries& queries, int64_t by_row, int64_t by_column, int64_t rest)
      : length_(queries.length),
        width_(queries.width),
        memory_(by_row * packed_rows_size<T>(length_, width_) +
                by_column * packed_columns_size<T>(length_, width_) + TaskMemory<T>::size(rest)) {}
  Panels<T> by_row(Rows<const T> head) {
    return packed_rows<T>(head, length_, width_,
                          memory_.take(packed_rows_size<T>(length_, width_)));
  }
  Panels<T> by_column(Rows<const T> head) {
    return packed_columns<T>(head, length_, width_,
                             memory_.take(packed_columns_size<T>(length_, width_)));
  }
  T* rest(int64_t elements) { return memory_.take(elements); }

 private:
  int64_t length_;
  int64_t width_;
  TaskMemory<T> memory_;
};

// Computes y. The softmax goes to `likely` [B,H,T,T]; above its diagonal blocks nothing is written.
template <typename T>
at::Tensor forward_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const at::Tensor& mask, const at::Tensor& likely) {
  const Queries queries(q, mask);
  at::Tensor y = empty_heads(queries, q);
  queries.each_head(queries.heads, [&](int64_t row, int64_t head) {
    HeadPanels<T> panels(queries, 1, 1, 0);
    const auto keys = panels.by_row(head_of<T>(k, row, head));
    const auto values = panels.by_column(head_of<T>(v, row, head));
    queries.each_block(0, queries.length, kQueries, [&](const CausalBlock& block) {
      const Rows<T> p = square_of<T>(likely, row, head).from(block.first);
      block.scores<T>(head_of<T>(q, row, head).from(block.first), keys, p, queries.scale, false);
      queries.hide(block, row, p);
      for (int64_t i = 0; i < block.count; ++i) {
        T* own = p.from(i).data;
        const auto before = static_cast<size_t>(block.first + i + 1);
        const double sum = kernel::exponentiate(own, kernel::largest(own, before), before);
        kernel::scale(own, static_cast<T>(1.0 / sum), before);
        std::fill(own + before, own + block.seen(), T{0});
      }
      block.weigh<T>(p, values, result_of<T>(y, row, head).from(block.first), 1, false);
    });
  });
  return y;
}

// Computes dq, dk, dv. E goes to `centred` [B,H,T,T], again only up to its diagonal blocks.
template <typename T>
variable_list backward_of(const at::Tensor& dy, const at::Tensor& q, const at::Tensor& k,
                          const at::Tensor& v, const at::Tensor& likely,
                          const at::Tensor& centred) {
  const Queries queries(q, {});
  variable_list made = {empty_heads(queries, q), empty_heads(queries, q), empty_heads(queries, q)};
  queries.each_head(queries.heads, [&](int64_t row, int64_t head) {
    HeadPanels<T> panels(queries, 1, 3, kQueries * queries.length);
    const auto values = panels.by_row(head_of<T>(v, row, head));
    const auto keys = panels.by_column(head_of<T>(k, row, head));
    const auto own = panels.by_column(head_of<T>(q, row, head));
    const auto back = panels.by_column(head_of<T>(dy, row, head));
    T* memory = panels.rest(kQueries * queries.length);
    queries.each_block(0, queries.length, kQueries, [&](const CausalBlock& block) {
      const Rows<T> bent = {memory, block.seen()};
      const Rows<T> p = square_of<T>(likely, row, head).from(block.first);
      const Rows<T> e = square_of<T>(centred, row, head).from(block.first);
      block.scores<T>(head_of<T>(dy, row, head).from(block.first), values, e, 1, false);
      for (int64_t i = 0; i < block.count; ++i) {
        kernel::center(p.from(i).data, e.from(i).data, bent.from(i).data,
                       static_cast<size_t>(block.first + i + 1));
        clear_above<T>(block, i, {e, bent});
      }
      block.weigh<T>(bent, keys, result_of<T>(made[0], row, head).from(block.first), queries.scale,
                     false);
      block.add_backwards<T>(bent, own.from(block.first), result_of<T>(made[1], row, head),
                             queries.scale, false);
      block.add_backwards<T>(p, back.from(block.first), result_of<T>(made[2], row, head), 1, false);
    });
  });
  return made;
}

// The changes of q, k, v, and the changes they cause.
struct Movement {
  const at::Tensor& q;
  const at::Tensor& k;
  const at::Tensor& v;
};

// The change of y, and the derivatives by q, k and v.
template <typename T>
variable_list change_of(const at::Tensor& dy, const Movement& at, const Movement& by,
                        const at::Tensor& likely, const at::Tensor& centred) {
  const Queries queries(at.q, {});
  variable_list made(4);
  for (at::Tensor& each : made) {
    each = empty_heads(queries, dy);
  }
  queries.each_head(queries.heads, [&](int64_t row, int64_t head) {
    HeadPanels<T> panels(queries, 3, 7, 3 * kQueries * queries.length);
    const auto of = [&](const at::Tensor& x) { return head_of<T>(x, row, head); };
    const auto to = [&](size_t i) { return result_of<T>(made[i], row, head); };
    const auto k = panels.by_row(of(at.k));
    const auto k_change = panels.by_row(of(by.k));
    const auto v_change = panels.by_row(of(by.v));
    const auto values = panels.by_column(of(at.v));
    const auto changed_values = panels.by_column(of(by.v));
    const auto keys = panels.by_column(of(at.k));
    const auto changed_keys = panels.by_column(of(by.k));
    const auto own = panels.by_column(of(at.q));
    const auto changed = panels.by_column(of(by.q));
    const auto back = panels.by_column(of(dy));
    T* memory = panels.rest(3 * kQueries * queries.length);
    queries.each_block(0, queries.length, kQueries, [&](const CausalBlock& block) {
      const int64_t first = block.first;
      const int64_t seen = block.seen();
      const Rows<T> s = {memory, seen};
      const Rows<T> x = {memory + kQueries * seen, seen};
      const Rows<T> bent = {memory + 2 * kQueries * seen, seen};
      const Rows<T> p = square_of<T>(likely, row, head).from(first);
      const Rows<T> e = square_of<T>(centred, row, head).from(first);
      block.scores<T>(of(by.q).from(first), k, s, queries.scale, false);
      block.scores<T>(of(at.q).from(first), k_change, s, queries.scale, true);
      block.scores<T>(of(dy).from(first), v_change, x, 1, false);
      for (int64_t i = 0; i < block.count; ++i) {
        kernel::move(p.from(i).data, e.from(i).data, s.from(i).data, x.from(i).data,
                     bent.from(i).data, static_cast<size_t>(first + i + 1));
        clear_above<T>(block, i, {s, x, bent});
      }
      block.weigh<T>(s, values, to(0).from(first), 1, false);
      block.weigh<T>(p, changed_values, to(0).from(first), 1, true);
      block.weigh<T>(x, keys, to(1).from(first), queries.scale, false);
      block.weigh<T>(bent, changed_keys, to(1).from(first), queries.scale, true);
      block.add_backwards<T>(x, own.from(first), to(2), queries.scale, false);
      block.add_backwards<T>(bent, changed.from(first), to(2), queries.scale, true);
      block.add_backwards<T>(s, back.from(first), to(3), 1, false);
    });
  });
  return made;
}

variable_list saved(AutogradContext* context) {
  variable_list out;
  for (const char* name : {"q", "k", "v", "likely"}) {
    out.push_back(context->saved_data[name].toTensor());
  }
  return out;
}

void save(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
          const at::Tensor& likely) {
  context->saved_data["q"] = q;
  context->saved_data["k"] = k;
  context->saved_data["v"] = v;
  context->saved_data["likely"] = likely;
}

variable_list derivatives(const at::Tensor& dy, const variable_list& of,
                          const at::Tensor& centred) {
  return dy.scalar_type() == at::kDouble
             ? backward_of<double>(dy, of[0], of[1], of[2], of[3], centred)
             : backward_of<float>(dy, of[0], of[1], of[2], of[3], centred);
}

struct AttentionBackward : torch::autograd::Function<AttentionBackward> {
  static variable_list forward(AutogradContext* context, const at::Tensor& dy, const at::Tensor& q,
                               const at::Tensor& k, const at::Tensor& v, const at::Tensor& likely) {
    const at::Tensor centred = at::empty_like(likely);
    save(context, q, k, v, likely);
    context->saved_data["dy"] = dy;
    context->saved_data["centred"] = centred;
    return derivatives(dy, {q, k, v, likely}, centred);
  }
  static variable_list backward(AutogradContext* context, variable_list changes) {
    const variable_list of = saved(context);
    const at::Tensor dy = context->saved_data["dy"].toTensor();
    const at::Tensor centred = context->saved_data["centred"].toTensor();
    for (at::Tensor& change : changes) {
      change = with_unit_stride(change);
    }
    const Movement at = {of[0], of[1], of[2]};
    const Movement by = {changes[0], changes[1], changes[2]};
    variable_list made = dy.scalar_type() == at::kDouble
                             ? change_of<double>(dy, at, by, of[3], centred)
                             : change_of<float>(dy, at, by, of[3], centred);
    made.emplace_back();
    return made;
  }
};

// Not a variable of the graph. Undefined if every token sees all earlier ones.
struct VisibleKeys {
  at::Tensor visible;
};

struct AttentionForward : torch::autograd::Function<AttentionForward> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const VisibleKeys& mask) {
    const at::Tensor likely = at::empty({q.size(0), q.size(2), q.size(1), q.size(1)}, q.options());
    save(context, q, k, v, likely);
    return q.scalar_type() == at::kDouble ? forward_of<double>(q, k, v, mask.visible, likely)
                                          : forward_of<float>(q, k, v, mask.visible, likely);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list of = saved(context);
    const at::Tensor dy = with_unit_stride(gradients[0]);
    if (at::GradMode::is_enabled()) {
      variable_list made = AttentionBackward::apply(dy, of[0], of[1], of[2], of[3]);
      made.emplace_back();
      return made;
    }
    variable_list made = derivatives(dy, of, at::empty_like(of[3]));
    made.emplace_back();
    return made;
  }
};

}  // namespace

at::Tensor double_backward_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const at::Tensor& mask) {
  return AttentionForward::apply(with_unit_stride(q), with_unit_stride(k), with_unit_stride(v),
                                 VisibleKeys{mask});
}

}  // namespace quench::decoder
