// With S = s q kᵀ, P = softmax(S) and y = P v, s = 1 / sqrt(D), the derivatives are
//   dP = dy vᵀ,  E = dP - Σ P dP,  dq = s (P∘E) k,  dk = s (P∘E)ᵀ q,  dv = Pᵀ dy,
// where Σ runs over the keys of a query. A cap makes c = cap tanh(S / cap) of the scores, whose
// slope 1 - (c / cap)² then multiplies P∘E. The backward recomputes P block by block from the
// scores and from each query's largest score and sum, which the forward keeps.
#include "models/decoder/blocked_attention.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "models/decoder/activation_kernels.hpp"
#include "models/decoder/causal_softmax.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/head_products.hpp"
#include "models/decoder/softmax_kernels.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct AttentionOperands {
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
  at::Tensor made = at::empty(x.sizes(), x.options().dtype(type));
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

// Queries whose scores are made and softened at once: whole tiles, so few that the scores stay in
// the first-level cache.
int64_t strip_of(matrix::Isa isa) {
  const int64_t tile = matrix::tile_rows(isa);
  return 28 / tile * tile;
}

// The distance of rows of scores: up to the end of a tile, and kBehind. Rows that lie a power of
// two apart would compete for the same cache lines.
template <typename T>
int64_t score_stride(int64_t length, matrix::Isa isa) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  return rounded_up(rounded_up(length, matrix::tile_columns<T>(isa)) + kBehind, 2 * kLine) + kLine;
}

// Scores of a block of queries against the keys that they see.
template <typename T>
void score(const CausalBlock& block, Rows<const T> q, const Panels<T>& keys, double scale,
           double cap, Rows<T> scores) {
  block.scores<T>(q, keys, scores, scale, false);
  for (int64_t i = 0; cap > 0.0 && i < block.count; ++i) {
    T* own = scores.from(i).data;
    kernel::soft_cap(static_cast<size_t>(block.first + i + 1), static_cast<T>(cap), own, own);
  }
}

template <typename T>
at::Tensor forward_of(const AttentionOperands& of, const at::Tensor& sums) {
  const Queries queries(of.q, of.mask);
  const int64_t length = queries.length;
  const int64_t width = queries.width;
  const int64_t share = queries.heads / of.k.size(2);
  const matrix::Isa isa = matrix::isa();
  const int64_t strip = strip_of(isa);
  const int64_t stride = score_stride<T>(length, isa);
  const int64_t elements = packed_rows_size<T>(length, width) +
                           packed_columns_size<T>(length, width) +
                           TaskMemory<T>::size(strip * stride) + TaskMemory<T>::size(2 * strip);
  at::Tensor y = at::empty({queries.batch, length, queries.heads, width}, of.q.options());
  queries.each_head(queries.heads, [&](int64_t row, int64_t head) {
    TaskMemory<T> memory(elements);
    const auto keys = packed_rows<T>(head_of<T>(of.k, row, head / share), length, width,
                                     memory.take(packed_rows_size<T>(length, width)));
    const auto values = packed_columns<T>(head_of<T>(of.v, row, head / share), length, width,
                                          memory.take(packed_columns_size<T>(length, width)));
    const Rows<T> p = {memory.take(strip * stride), stride};
    T* unkept = memory.take(2 * strip);
    queries.each_block(0, length, strip, [&](const CausalBlock& block) {
      score<T>(block, head_of<T>(of.q, row, head).from(block.first), keys, queries.scale, of.cap,
               p);
      queries.hide(block, row, p);
      causal_softmax<T>(isa, {p.data, stride, block.count, block.first},
                        sums.defined() ? sums_of<T>(sums, row, head, block.first) : unkept);
      block.weigh<T>(p, values, result_of<T>(y, row, head).from(block.first), 1, false);
    });
  });
  return y;
}

// The backward of one query head after the other that reads a key head. The sums for keys and
// values run over the queries in blocks of kQueries, so they have one order.
template <typename T>
class HeadBackward {
 public:
  HeadBackward(const AttentionOperands& of, const at::Tensor& dy, const at::Tensor& sums,
               const variable_list& made)
      : of_(of),
        dy_(dy),
        sums_(sums),
        made_(made),
        queries_(of.q, of.mask),
        share_(queries_.heads / of.k.size(2)),
        isa_(matrix::isa()),
        block_(std::min(kQueries, queries_.length)),
        stride_(score_stride<T>(queries_.length, isa_)) {}

  void run() const {
    queries_.each_head(of_.k.size(2), [this](int64_t row, int64_t key_head) {
      TaskMemory<T> memory(elements());
      const Copies copies = copied(row, key_head, memory);
      for (int64_t head = key_head * share_; head < (key_head + 1) * share_; ++head) {
        queries_.each_block(0, queries_.length, kQueries, [&](const CausalBlock& block) {
          differentiate(row, head, block, copies);
        });
      }
    });
  }

 private:
  // What a task reads and writes beside the tensors.
  struct Copies {
    Panels<T> keys;
    Panels<T> values;
    Panels<T> keys_by_column;
    T* queries;  // of a block
    T* back;     // dy of a block
    Rows<T> p;
    Rows<T> e;
  };

  int64_t elements() const {
    const int64_t width = queries_.width;
    return 2 * packed_rows_size<T>(queries_.length, width) +
           packed_columns_size<T>(queries_.length, width) +
           2 * packed_columns_size<T>(block_, width) + 2 * TaskMemory<T>::size(block_ * stride_);
  }

  Copies copied(int64_t row, int64_t key_head, TaskMemory<T>& memory) const {
    const int64_t length = queries_.length;
    const int64_t width = queries_.width;
    const auto keys = head_of<T>(of_.k, row, key_head);
    const auto values = head_of<T>(of_.v, row, key_head);
    const int64_t by_row = packed_rows_size<T>(length, width);
    return {
        packed_rows<T>(keys, length, width, memory.take(by_row)),
        packed_rows<T>(values, length, width, memory.take(by_row)),
        packed_columns<T>(keys, length, width, memory.take(packed_columns_size<T>(length, width))),
        memory.take(packed_columns_size<T>(block_, width)),
        memory.take(packed_columns_size<T>(block_, width)),
        {memory.take(block_ * stride_), stride_},
        {memory.take(block_ * stride_), stride_}};
  }

  void differentiate(int64_t row, int64_t head, const CausalBlock& block,
                     const Copies& copies) const {
    const auto own = head_of<T>(of_.q, row, head);
    const auto back = head_of<T>(dy_, row, head);
    const int64_t key_head = head / share_;
    queries_.each_block(block.first, block.seen(), strip_of(isa_), [&](const CausalBlock& strip) {
      const Rows<T> p = copies.p.from(strip.first - block.first);
      const Rows<T> e = copies.e.from(strip.first - block.first);
      score<T>(strip, own.from(strip.first), copies.keys, queries_.scale, of_.cap, p);
      strip.scores<T>(back.from(strip.first), copies.values, e, 1, false);
      soften(strip, row, sums_of<T>(sums_, row, head, strip.first), p, e);
      strip.weigh<T>(e, copies.keys_by_column, result_of<T>(made_[0], row, head).from(strip.first),
                     queries_.scale, false);
    });
    const auto queries =
        packed_columns<T>(own.from(block.first), block.count, queries_.width, copies.queries);
    const bool adds = head > key_head * share_;  // to what another head made
    block.add_backwards<T>(copies.e, queries, result_of<T>(made_[1], row, key_head), queries_.scale,
                           adds);
    const auto backs =
        packed_columns<T>(back.from(block.first), block.count, queries_.width, copies.back);
    block.add_backwards<T>(copies.p, backs, result_of<T>(made_[2], row, key_head), 1, adds);
  }

  // scores -> p, errors -> P∘E
  void soften(const CausalBlock& strip, int64_t row, const T* kept, Rows<T> p, Rows<T> e) const {
    if (of_.cap <= 0.0) {
      queries_.hide(strip, row, p);
      return causal_softmax_backward<T>(isa_, {p.data, stride_, strip.count, strip.first}, e.data,
                                        kept);
    }
    std::vector<T> slopes(static_cast<size_t>(strip.seen()));  // of one row's scores
    for (int64_t i = 0; i < strip.count; ++i) {
      const CausalBlock one = {strip.first + i, 1, strip.width};
      T* likely = p.from(i).data;
      T* error = e.from(i).data;
      const auto before = static_cast<size_t>(one.seen());
      kernel::cap_slopes(likely, static_cast<T>(of_.cap), before, slopes.data());
      queries_.hide(one, row, p.from(i));
      causal_softmax_backward<T>(isa_, {likely, stride_, 1, one.first}, error, kept + 2 * i);
      for (size_t j = 0; j < before; ++j) {
        error[j] *= slopes[j];
      }
    }
  }

  const AttentionOperands& of_;
  const at::Tensor& dy_;
  const at::Tensor& sums_;
  const variable_list& made_;
  Queries queries_;
  int64_t share_;
  matrix::Isa isa_;
  int64_t block_;
  int64_t stride_;
};

template <typename T>
variable_list backward_of(const at::Tensor& dy, const AttentionOperands& of,
                          const at::Tensor& sums) {
  variable_list made = {at::empty(dy.sizes(), of.q.options()),
                        at::empty(of.k.sizes(), of.k.options()),
                        at::empty(of.k.sizes(), of.k.options())};
  HeadBackward<T>(of, dy, sums, made).run();
  return made;
}

at::Tensor attend(const AttentionOperands& of, const at::Tensor& sums) {
  return of.q.scalar_type() == at::kDouble ? forward_of<double>(of, sums)
                                           : forward_of<float>(of, sums);
}

AttentionOperands widened(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
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
    const AttentionOperands of = widened(q, k, v, mask.visible, cap);
    const at::Tensor sums = empty_sums(of.q);
    context->saved_data["q"] = of.q;
    context->saved_data["k"] = of.k;
    context->saved_data["v"] = of.v;
    context->saved_data["mask"] = mask.visible;
    context->saved_data["cap"] = cap;
    context->saved_data["sums"] = sums;
    context->saved_data["type"] = static_cast<int64_t>(q.scalar_type());
    return plain(attend(of, sums), q.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = [context](const char* name) { return context->saved_data[name].toTensor(); };
    const AttentionOperands of = {saved("q"), saved("k"), saved("v"), saved("mask"),
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
  return plain(attend(widened(q, k, v, mask, cap), {}), q.scalar_type());
}

}  // namespace quench::decoder
