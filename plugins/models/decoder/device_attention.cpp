// With S = s q kᵀ, P = softmax(S) and y = P v, s = 1 / sqrt(D), the derivatives are
//   dP = dy vᵀ,  E = P∘(dP - Σ P dP),  dq = s E k,  dk = s Eᵀ q,  dv = Pᵀ dy,
// where Σ runs over the keys of a query.
#include "models/decoder/device_attention.hpp"

#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/triu.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Not variables of the graph. The mask is undefined if every token sees all earlier ones.
struct Settings {
  at::Tensor visible;
  int64_t scores;
};

// [B,H,T,D] -> [B·H,T,D].
at::Tensor all_heads(const at::Tensor& x) {
  return x.contiguous().flatten(0, 1);
}

// True where a key (column) is hidden from a query (row), [B,T,T], or [1,T,T] for all rows alike.
at::Tensor hidden_keys(const at::Tensor& q, const at::Tensor& mask) {
  const int64_t length = q.size(2);
  return mask.defined() ? mask.logical_not().flatten(0, 1)
                        : at::triu(at::ones({1, length, length}, q.options().dtype(at::kBool)), 1);
}

// Those of `count` heads of [B·H,T,T], from `first` on.
at::Tensor of_heads(const at::Tensor& hidden, int64_t heads, int64_t first, int64_t count) {
  const at::Tensor head = at::arange(first, first + count, hidden.options().dtype(at::kLong));
  return hidden.size(0) == 1 ? hidden : hidden.index_select(0, head.floor_divide(heads));
}

struct DeviceAttention : torch::autograd::Function<DeviceAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const Settings& settings) {
    context->save_for_backward({q, k, v});
    context->saved_data["mask"] = settings.visible;
    context->saved_data["scores"] = settings.scores;
    const bool causal = !settings.visible.defined();
    return at::scaled_dot_product_attention(
        q, k, v, causal ? std::nullopt : std::optional<at::Tensor>(settings.visible),
        /*dropout_p=*/0.0, causal);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor mask = context->saved_data["mask"].toTensor();
    const at::Tensor& shaped = saved[0];
    const at::Tensor q = all_heads(saved[0]);
    const at::Tensor k = all_heads(saved[1]);
    const at::Tensor v = all_heads(saved[2]);
    const at::Tensor dy = all_heads(gradients[0]);
    const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(2)));
    const at::Tensor dq = at::empty(q.sizes(), q.options());
    const at::Tensor dk = at::empty(q.sizes(), q.options());
    const at::Tensor dv = at::empty(q.sizes(), q.options());
    const at::Tensor hidden = hidden_keys(shaped, mask);
    const int64_t slab =
        std::max<int64_t>(1, context->saved_data["scores"].toInt() / (q.size(1) * q.size(1)));
    for (int64_t first = 0; first < q.size(0); first += slab) {
      const int64_t count = std::min(slab, q.size(0) - first);
      const auto part = [&](const at::Tensor& x) { return x.narrow(0, first, count); };
      const at::Tensor own = part(q).mul(scale);
      const at::Tensor unseen = of_heads(hidden, shaped.size(1), first, count);
      at::Tensor likely = at::bmm(own, part(k).transpose(1, 2));
      likely.masked_fill_(unseen, -std::numeric_limits<double>::infinity());
      likely = at::softmax(likely, 2);
      if (mask.defined()) {
        likely.masked_fill_(unseen, 0);  // a query that sees nothing
      }
      at::Tensor to = part(dv);
      at::bmm_out(to, likely.transpose(1, 2), part(dy));
      const at::Tensor error = at::_softmax_backward_data(
          at::bmm(part(dy), part(v).transpose(1, 2)), likely, 2, likely.scalar_type());
      to = part(dq);
      at::bmm_out(to, error, part(k)).mul_(scale);
      to = part(dk);
      at::bmm_out(to, error.transpose(1, 2), own);
    }
    return {dq.view(shaped.sizes()), dk.view(shaped.sizes()), dv.view(shaped.sizes()), {}};
  }
};

}  // namespace

at::Tensor device_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& mask, int64_t scores) {
  return DeviceAttention::apply(q, k, v, Settings{mask, scores});
}

}  // namespace quench::decoder
