#include "models/decoder/attention.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/triu.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "models/decoder/activation.hpp"
#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/blocked_attention.hpp"
#include "models/decoder/causal_attention.hpp"
#include "models/decoder/device_attention.hpp"
#include "models/decoder/differentiable.hpp"
#include "models/decoder/double_backward/operations.hpp"
#include "quench/abi/kind/model.h"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

// Repeats each key head for the query heads that read it: [B,T,K,D] -> [B,T,H,D].
at::Tensor repeated(const at::Tensor& k, int64_t heads) {
  if (k.size(2) == heads) {
    return k;
  }
  const int64_t times = heads / k.size(2);
  return k.unsqueeze(3)
      .expand({k.size(0), k.size(1), k.size(2), times, k.size(3)})
      .reshape({k.size(0), k.size(1), heads, k.size(3)});
}

// softmax(q kᵀ / sqrt(D)) v as separate ATen operations; q, k, v [B,H,T,D].
at::Tensor composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const at::Tensor& mask, double cap) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor hidden =
      mask.defined() ? mask.logical_not()
                     : at::triu(at::ones({q.size(2), q.size(2)}, q.options().dtype(at::kBool)), 1);
  at::Tensor scores = multiply(q.mul(scale), k.transpose(2, 3));
  if (cap > 0.0) {
    scores = soft_cap(scores, cap);
  }
  scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  const at::ScalarType wide = at::elementSize(q.scalar_type()) < 4 ? at::kFloat : q.scalar_type();
  return multiply(softmax(scores, wide).to(v.scalar_type()), v);
}

// Under autocast, attention reads and writes bfloat16.
at::Tensor operand(const at::Tensor& x) {
  const AutogradScope* scope = AutogradScope::current();
  return scope != nullptr && scope->autocast() ? x.to(at::kBFloat16) : x;
}

at::Tensor on_device(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& mask) {
  const bool grouped = !recording() && q.size(2) != k.size(2);
  const auto heads = [&](const at::Tensor& x) {
    return operand(recording() ? repeated(x, q.size(2)) : x).transpose(1, 2);
  };
  if (const at::Tensor own = heads(q); recording() && at::elementSize(own.scalar_type()) >= 4) {
    return device_attention(own, heads(k), heads(v), mask).transpose(1, 2);
  }
  return at::scaled_dot_product_attention(
             heads(q), heads(k), heads(v),
             mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt, /*dropout_p=*/0.0,
             /*is_causal=*/!mask.defined(), /*scale=*/std::nullopt, grouped)
      .transpose(1, 2);
}

// [B,T,H,D] -> [B,T,H,D]. `mask` is boolean [B,1,T,T], true where a query (row) sees a key
// (column); undefined means causal.
at::Tensor fused(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const at::Tensor& mask, double cap) {
  if (!recording() && !mask.defined() && cap == 0.0 && matrix::on_host(q)) {
    return causal_attention(q, k, v);
  }
  const bool own = has_blocked_attention(q);
  const bool doubly = current_mode() == AutogradMode::kDoubleBackward && own && cap == 0.0;
  if ((composing() && !doubly) || (cap > 0.0 && !own)) {
    const auto heads = [&](const at::Tensor& x) {
      return operand(repeated(x, q.size(2))).transpose(1, 2);
    };
    const at::Tensor y = composed(heads(q), heads(k), heads(v), mask, cap).transpose(1, 2);
    return y.scalar_type() == q.scalar_type() ? y : y.to(q.scalar_type());
  }
  if (current_mode() == AutogradMode::kDoubleBackward) {
    return double_backward_attention(q, repeated(k, q.size(2)), repeated(v, q.size(2)), mask);
  }
  const at::Tensor y = own ? blocked_attention(operand(q), operand(k), operand(v), mask, cap)
                           : on_device(q, k, v, mask);
  return y.scalar_type() == q.scalar_type() ? y : y.to(q.scalar_type());
}

using Run = std::pair<int64_t, int64_t>;  // [first, end)

// The documents of a row as runs of tokens, if its segments are consecutive documents without a
// shared prefix and without padding; nothing for any other row.
std::optional<std::vector<Run>> documents(std::span<const int32_t> segments) {
  std::vector<Run> runs;
  std::set<int32_t> seen;
  for (size_t first = 0; first < segments.size();) {
    size_t end = first + 1;
    while (end < segments.size() && segments[end] == segments[first]) {
      ++end;
    }
    const bool whole_row = end - first == segments.size();
    if (segments[first] < 0 || (segments[first] == 0 && !whole_row) ||
        !seen.insert(segments[first]).second) {
      return std::nullopt;
    }
    runs.emplace_back(static_cast<int64_t>(first), static_cast<int64_t>(end));
    first = end;
  }
  return runs;
}

// Boolean [B,1,T,T]: true where a query sees a key (last dimension).
at::Tensor visible(const Batch& batch, int64_t window, at::Device device) {
  const int64_t length = batch.length();
  const std::vector<int32_t> one_segment(batch.segments().empty() ? batch.ids().size() : 0, 1);
  const std::span<const int32_t> all =
      batch.segments().empty() ? std::span(one_segment) : batch.segments();
  at::Tensor out = at::empty({batch.rows(), 1, length, length}, at::TensorOptions(at::kBool));
  auto* sees = static_cast<bool*>(out.mutable_data_ptr());
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const int32_t* segments = all.data() + row * length;
    const int32_t* positions =
        batch.positions().empty() ? nullptr : batch.positions().data() + row * length;
    const auto is_near = [&](int64_t query, int64_t key) {
      const int64_t distance =
          positions == nullptr ? query - key : int64_t{positions[query]} - positions[key];
      return window == 0 || distance < window;
    };
    for (int64_t query = 0; query < length; ++query, sees += length) {
      const int32_t own = segments[query];
      const bool reads = own >= 0 || own == QUENCH_SEGMENT_ATTENDING_PADDING;
      for (int64_t key = 0; key < query; ++key) {
        sees[key] = reads && (segments[key] == 0 || (own >= 0 && segments[key] == own)) &&
                    (own < 0 || is_near(query, key));
      }
      sees[query] = own != QUENCH_SEGMENT_ATTENDING_PADDING;
      std::fill(sees + query + 1, sees + length, false);
    }
  }
  return out.to(device);
}

}  // namespace

at::Tensor attend(const at::Tensor& given, const at::Tensor& k, const at::Tensor& v,
                  const Batch& batch, const AttentionForm& form) {
  const int64_t width = given.size(2) * given.size(3);
  const at::Tensor q = form.scale == 0.0
                           ? given
                           : given.mul(form.scale * std::sqrt(static_cast<double>(given.size(3))));
  const auto masked = [&](int64_t window) {
    return fused(q, k, v, visible(batch, window, q.device()), form.cap)
        .reshape({batch.tokens(), width});
  };
  if (form.window > 0 && form.window < batch.length()) {
    return masked(form.window);
  }
  if (batch.segments().empty()) {
    return fused(q, k, v, {}, form.cap).reshape({batch.tokens(), width});
  }
  const auto length = static_cast<size_t>(batch.length());
  std::vector<at::Tensor> rows;
  std::vector<std::vector<Run>> runs;  // of each row
  for (size_t row = 0; row < static_cast<size_t>(batch.rows()); ++row) {
    auto found = documents(batch.segments().subspan(row * length, length));
    if (!found) {  // one call for the whole batch: prefixes, alternatives, padding
      return masked(0);
    }
    runs.push_back(std::move(*found));
  }
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const auto part = [row](const at::Tensor& whole, Run run) {
      return whole.narrow(0, row, 1).narrow(1, run.first, run.second - run.first);
    };
    std::vector<at::Tensor> parts;
    for (const Run& run : runs[static_cast<size_t>(row)]) {
      parts.push_back(fused(part(q, run), part(k, run), part(v, run), {}, form.cap));
    }
    rows.push_back(parts.size() == 1 ? parts.front() : at::cat(parts, 1));
  }
  return at::cat(rows, 0).reshape({batch.tokens(), width});
}

}  // namespace quench::decoder
