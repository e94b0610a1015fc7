// Causal attention of one head after the other, in blocks of queries, so that of the matrices
// between them only the softmax and its derivative are kept, [B,H,T,T] each.
//
//   S = s q kᵀ,  P = softmax(S),  y = P v;                                 s = 1 / sqrt(D)
//   dP = dy vᵀ,  E = dP - Σ P dP,  dq = s (P∘E) k,  dk = s (P∘E)ᵀ q,  dv = Pᵀ dy.
//
// With q, k, v changing by q', k', v', and S' = s (q' kᵀ + q k'ᵀ), U = S' - Σ P S':
//   y changes by (P∘U) v + P v';
// the derivatives of Σ dq·q' + dk·k' + dv·v' are, with X = E∘U + dy v'ᵀ and Z = P∘(X - Σ P X),
//   of q: s (Z k + (P∘E) k'),  of k: s (Zᵀ q + (P∘E)ᵀ q'),  of v: (P∘U)ᵀ dy.
// Sums are along the keys of a query.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/decoder/curved/operations.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/buffer.hpp"
#include "shared/matrix/kernel.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kQueries = matrix::kBlockRows;
constexpr int64_t kLanes = 16;  // partial sums of a row

// Element (i, j) at i * stride + j.
template <typename T>
struct Rows {
  T* data;
  int64_t stride;
  Rows from(int64_t row) const { return {data + row * stride, stride}; }
  operator Rows<const T>() const { return {data, stride}; }
};

// to [m, n] (+)= factor * a [m, k] b [k, n]; the operands as (i, k) and (j, k).
template <typename T>
void multiply(matrix::Operand<T> a, matrix::Operand<T> b, matrix::Sizes sizes, Rows<T> to,
              double factor, bool add) {
  matrix::Result<T, T> result;
  result.to = to.data;
  result.stride = to.stride;
  result.factor = factor;
  result.add = add;
  matrix::multiply<T, T>(a, b, sizes, result);
}

// The rows of a matrix as the first or, given with its transpose, the second operand of a product.
template <typename T>
matrix::Operand<T> rows(Rows<const T> x) {
  return {x.data, x.stride, 1};
}
template <typename T>
matrix::Operand<T> columns(Rows<const T> x) {
  return {x.data, 1, x.stride};
}

template <typename T>
T total(const T (&partial)[kLanes]) {
  double sum = 0;
  for (const T part : partial) {
    sum += static_cast<double>(part);
  }
  return static_cast<T>(sum);
}

// Σ a b
template <typename T>
T dot(const T* a, const T* b, int64_t count) {
  T partial[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      partial[lane] += a[j + lane] * b[j + lane];
    }
  }
  for (; j < count; ++j) {
    partial[j % kLanes] += a[j] * b[j];
  }
  return total(partial);
}

// The softmax of the first `seen` scores, 0 behind them.
template <typename T>
void make_softmax(T* scores, int64_t seen, int64_t count) {
  const T peak = *std::max_element(scores, scores + seen);
  double sum = 0;
  for (int64_t j = 0; j < seen; ++j) {
    scores[j] = std::exp(scores[j] - peak);
    sum += static_cast<double>(scores[j]);
  }
  const T inverse = static_cast<T>(1.0 / sum);
  for (int64_t j = 0; j < seen; ++j) {
    scores[j] *= inverse;
  }
  std::fill(scores + seen, scores + count, T{0});
}

// e -= Σ p e, bent = p e
template <typename T>
void center(const T* p, T* e, T* bent, int64_t count) {
  const T mean = dot(p, e, count);
  for (int64_t j = 0; j < count; ++j) {
    e[j] -= mean;
    bent[j] = p[j] * e[j];
  }
}

// s: S' -> P∘U; x: dy v'ᵀ -> Z; bent = P∘E.
template <typename T>
void move(const T* p, const T* e, T* s, T* x, T* bent, int64_t count) {
  const T mean = dot(p, s, count);
  for (int64_t j = 0; j < count; ++j) {
    const T u = s[j] - mean;
    x[j] += e[j] * u;
    s[j] = p[j] * u;
    bent[j] = p[j] * e[j];
  }
  const T centre = dot(p, x, count);
  for (int64_t j = 0; j < count; ++j) {
    x[j] = p[j] * (x[j] - centre);
  }
}

// The heads of one tensor [B,T,H,D] whose innermost stride is 1.
template <typename T>
Rows<const T> head_of(const at::Tensor& x, int64_t row, int64_t head) {
  return {x.const_data_ptr<T>() + row * x.stride(0) + head * x.stride(2), x.stride(1)};
}
template <typename T>
Rows<T> result_of(const at::Tensor& x, int64_t row, int64_t head) {
  return {x.mutable_data_ptr<T>() + row * x.stride(0) + head * x.stride(2), x.stride(1)};
}

struct Shape {
  explicit Shape(const at::Tensor& q)
      : batch(q.size(0)),
        length(q.size(1)),
        heads(q.size(2)),
        width(q.size(3)),
        scale(1.0 / std::sqrt(static_cast<double>(width))) {}

  // Calls body(row, head) on the host's threads.
  template <typename Body>
  void each_head(Body&& body) const {
    kit::parallel_for(static_cast<uint64_t>(batch * heads), 1, [&](uint64_t begin, uint64_t end) {
      for (auto task = static_cast<int64_t>(begin); task < static_cast<int64_t>(end); ++task) {
        body(task / heads, task % heads);
      }
    });
  }
  // Calls body(first, count, seen) for the blocks of queries, which see the first `seen` keys.
  template <typename Body>
  void each_block(Body&& body) const {
    for (int64_t first = 0; first < length; first += kQueries) {
      const int64_t count = std::min(kQueries, length - first);
      body(first, count, first + count);
    }
  }
  template <typename T>
  Rows<T> square_of(const at::Tensor& x, int64_t row, int64_t head) const {
    return {x.mutable_data_ptr<T>() + (row * heads + head) * length * length, length};
  }

  int64_t batch;
  int64_t length;
  int64_t heads;
  int64_t width;
  double scale;
};

at::Tensor squares(const Shape& shape, const at::Tensor& like) {
  return at::empty({shape.batch, shape.heads, shape.length, shape.length}, like.options());
}

at::Tensor zeros(const Shape& shape, const at::Tensor& like) {
  return at::zeros({shape.batch, shape.length, shape.heads, shape.width}, like.options());
}

// y; the softmax goes to `likely` [B,H,T,T], above whose diagonal blocks nothing is written.
template <typename T>
at::Tensor forward_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const at::Tensor& likely) {
  const Shape shape(q);
  at::Tensor y = at::empty({shape.batch, shape.length, shape.heads, shape.width}, q.options());
  shape.each_head([&](int64_t row, int64_t head) {
    const auto keys = head_of<T>(k, row, head);
    const auto values = head_of<T>(v, row, head);
    shape.each_block([&](int64_t first, int64_t count, int64_t seen) {
      const Rows<T> p = shape.square_of<T>(likely, row, head).from(first);
      multiply<T>(rows(head_of<T>(q, row, head).from(first)), rows(keys),
                  {count, seen, shape.width}, p, shape.scale, false);
      for (int64_t i = 0; i < count; ++i) {
        make_softmax(p.from(i).data, first + i + 1, seen);
      }
      multiply<T>(rows<T>(p), columns(values), {count, shape.width, seen},
                  result_of<T>(y, row, head).from(first), 1, false);
    });
  });
  return y;
}

// dq, dk, dv; E goes to `centred` [B,H,T,T], likewise.
template <typename T>
variable_list backward_of(const at::Tensor& dy, const at::Tensor& q, const at::Tensor& k,
                          const at::Tensor& v, const at::Tensor& likely,
                          const at::Tensor& centred) {
  const Shape shape(q);
  variable_list made = {zeros(shape, q), zeros(shape, q), zeros(shape, q)};
  shape.each_head([&](int64_t row, int64_t head) {
    const matrix::Buffer memory(kQueries * shape.length * static_cast<int64_t>(sizeof(T)));
    shape.each_block([&](int64_t first, int64_t count, int64_t seen) {
      const Rows<T> bent = {memory.as<T>(), seen};
      const Rows<T> p = shape.square_of<T>(likely, row, head).from(first);
      const Rows<T> e = shape.square_of<T>(centred, row, head).from(first);
      const auto queries = head_of<T>(q, row, head).from(first);
      const auto back = head_of<T>(dy, row, head).from(first);
      multiply<T>(rows(back), rows(head_of<T>(v, row, head)), {count, seen, shape.width}, e, 1,
                  false);
      for (int64_t i = 0; i < count; ++i) {
        center(p.from(i).data, e.from(i).data, bent.from(i).data, seen);
      }
      multiply<T>(rows<T>(bent), columns(head_of<T>(k, row, head)), {count, shape.width, seen},
                  result_of<T>(made[0], row, head).from(first), shape.scale, false);
      multiply<T>(columns<T>(bent), columns(queries), {seen, shape.width, count},
                  result_of<T>(made[1], row, head), shape.scale, true);
      multiply<T>(columns<T>(p), columns(back), {seen, shape.width, count},
                  result_of<T>(made[2], row, head), 1, true);
    });
  });
  return made;
}

// What moves, and what it moves.
struct Movement {
  const at::Tensor& q;
  const at::Tensor& k;
  const at::Tensor& v;
};

// The change of y, and the derivatives for q, k and v.
template <typename T>
variable_list change_of(const at::Tensor& dy, const Movement& at, const Movement& by,
                        const at::Tensor& likely, const at::Tensor& centred) {
  const Shape shape(at.q);
  variable_list made = {zeros(shape, dy), zeros(shape, dy), zeros(shape, dy), zeros(shape, dy)};
  shape.each_head([&](int64_t row, int64_t head) {
    const matrix::Buffer memory(3 * kQueries * shape.length * static_cast<int64_t>(sizeof(T)));
    const auto of = [&](const at::Tensor& x) { return head_of<T>(x, row, head); };
    const auto to = [&](size_t i) { return result_of<T>(made[i], row, head); };
    shape.each_block([&](int64_t first, int64_t count, int64_t seen) {
      const Rows<T> s = {memory.as<T>(), seen};
      const Rows<T> x = {memory.as<T>() + kQueries * seen, seen};
      const Rows<T> bent = {memory.as<T>() + 2 * kQueries * seen, seen};
      const Rows<T> p = shape.square_of<T>(likely, row, head).from(first);
      const Rows<T> e = shape.square_of<T>(centred, row, head).from(first);
      const matrix::Sizes scores = {count, seen, shape.width};
      const matrix::Sizes forwards = {count, shape.width, seen};
      const matrix::Sizes backwards = {seen, shape.width, count};
      multiply<T>(rows(of(by.q).from(first)), rows(of(at.k)), scores, s, shape.scale, false);
      multiply<T>(rows(of(at.q).from(first)), rows(of(by.k)), scores, s, shape.scale, true);
      multiply<T>(rows(of(dy).from(first)), rows(of(by.v)), scores, x, 1, false);
      for (int64_t i = 0; i < count; ++i) {
        move(p.from(i).data, e.from(i).data, s.from(i).data, x.from(i).data, bent.from(i).data,
             seen);
      }
      multiply<T>(rows<T>(s), columns(of(at.v)), forwards, to(0).from(first), 1, false);
      multiply<T>(rows<T>(p), columns(of(by.v)), forwards, to(0).from(first), 1, true);
      multiply<T>(rows<T>(x), columns(of(at.k)), forwards, to(1).from(first), shape.scale, false);
      multiply<T>(rows<T>(bent), columns(of(by.k)), forwards, to(1).from(first), shape.scale, true);
      multiply<T>(columns<T>(x), columns(of(at.q).from(first)), backwards, to(2), shape.scale,
                  true);
      multiply<T>(columns<T>(bent), columns(of(by.q).from(first)), backwards, to(2), shape.scale,
                  true);
      multiply<T>(columns<T>(s), columns(of(dy).from(first)), backwards, to(3), 1, true);
    });
  });
  return made;
}

at::Tensor with_unit_stride(const at::Tensor& x) {
  return x.stride(3) == 1 ? x : x.contiguous();
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

struct AttentionForward : torch::autograd::Function<AttentionForward> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v) {
    const at::Tensor likely = squares(Shape(q), q);
    save(context, q, k, v, likely);
    return q.scalar_type() == at::kDouble ? forward_of<double>(q, k, v, likely)
                                          : forward_of<float>(q, k, v, likely);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list of = saved(context);
    const at::Tensor dy = with_unit_stride(gradients[0]);
    if (at::GradMode::is_enabled()) {
      return AttentionBackward::apply(dy, of[0], of[1], of[2], of[3]);
    }
    return derivatives(dy, of, at::empty_like(of[3]));
  }
};

}  // namespace

bool has_curved_attention(const at::Tensor& q) {
  return q.is_cpu() && q.numel() > 0;
}

at::Tensor curved_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return AttentionForward::apply(with_unit_stride(q), with_unit_stride(k), with_unit_stride(v));
}

}  // namespace quench::decoder
