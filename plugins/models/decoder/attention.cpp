#include "models/decoder/attention.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/triu.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "models/decoder/recorder.hpp"

namespace quench::decoder {

namespace {

// Of each key head as many copies as query heads read it: [B,T,K,D] -> [B,T,H,D].
at::Tensor repeated(const at::Tensor& k, int64_t heads) {
  if (k.size(2) == heads) {
    return k;
  }
  const int64_t times = heads / k.size(2);
  return k.unsqueeze(3)
      .expand({k.size(0), k.size(1), k.size(2), times, k.size(3)})
      .reshape({k.size(0), k.size(1), heads, k.size(3)});
}

// softmax(q kᵀ / sqrt(D)) v in steps; q, k, v [B,H,T,D].
at::Tensor composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const std::optional<at::Tensor>& mask) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor hidden =
      mask ? mask->logical_not()
           : at::triu(at::ones({q.size(2), q.size(2)}, q.options().dtype(at::kBool)), 1);
  const at::Tensor scores = at::matmul(q.mul(scale), k.transpose(2, 3))
                                .masked_fill(hidden, -std::numeric_limits<double>::infinity());
  return at::matmul(at::softmax(scores, 3), v);
}

// [B,T,H,D] -> [B,T,H,D]; `mask` is boolean [T,T], true where a query (row) sees a key (column), or
// nothing: causal.
at::Tensor fused(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const std::optional<at::Tensor>& mask) {
  const Recorder* recorder = Recorder::current();
  const bool recorded = recorder != nullptr;
  const bool grouped = !recorded && q.size(2) != k.size(2);
  const auto operand = [&](const at::Tensor& x) {
    const at::Tensor heads = (recorded ? repeated(x, q.size(2)) : x).transpose(1, 2);
    return recorded && recorder->autocast() ? heads.to(at::kBFloat16) : heads;
  };
  if (recorded && recorder->form() == Form::kComposed) {
    return composed(operand(q), operand(k), operand(v), mask).transpose(1, 2);
  }
  const at::Tensor y = at::scaled_dot_product_attention(
      operand(q), operand(k), operand(v), mask, /*dropout_p=*/0.0,
      /*is_causal=*/!mask.has_value(), /*scale=*/std::nullopt, grouped);
  return (y.scalar_type() == q.scalar_type() ? y : y.to(q.scalar_type())).transpose(1, 2);
}

using Run = std::pair<int64_t, int64_t>;  // [first, end)

// The documents of a row whose segments are consecutive, each one run, without a shared prefix and
// without padding; nothing for any other row.
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

// Boolean [T,T]: which key (column) a query (row) sees.
at::Tensor visible(std::span<const int32_t> segments, at::Device device) {
  const auto length = static_cast<int64_t>(segments.size());
  const at::Tensor own =
      at::from_blob(const_cast<int32_t*>(segments.data()), {length}, at::TensorOptions(at::kInt))
          .to(device);
  const at::Tensor place = at::arange(length, at::TensorOptions(at::kInt).device(device));
  const at::Tensor query = own.unsqueeze(1);
  const at::Tensor key = own.unsqueeze(0);
  const at::Tensor earlier = place.unsqueeze(0).lt(place.unsqueeze(1));
  const at::Tensor itself = place.unsqueeze(0).eq(place.unsqueeze(1));
  const at::Tensor shared = key.eq(0).logical_or(key.eq(query)).logical_and(key.ge(0));
  return earlier.logical_and(shared.logical_and(query.ge(0))).logical_or(itself);
}

}  // namespace

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const Batch& batch) {
  const int64_t width = q.size(2) * q.size(3);
  if (batch.segments().empty()) {
    return fused(q, k, v, std::nullopt).reshape({batch.tokens(), width});
  }
  const auto length = static_cast<size_t>(batch.length());
  std::vector<at::Tensor> rows;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const auto segments = batch.segments().subspan(static_cast<size_t>(row) * length, length);
    const auto part = [row](const at::Tensor& whole, Run run) {
      return whole.narrow(0, row, 1).narrow(1, run.first, run.second - run.first);
    };
    std::vector<at::Tensor> parts;
    if (const auto runs = documents(segments)) {
      for (const Run& run : *runs) {
        parts.push_back(fused(part(q, run), part(k, run), part(v, run), std::nullopt));
      }
    } else {
      const Run all{0, batch.length()};
      parts.push_back(
          fused(part(q, all), part(k, all), part(v, all), visible(segments, q.device())));
    }
    rows.push_back(parts.size() == 1 ? parts.front() : at::cat(parts, 1));
  }
  return at::cat(rows, 0).reshape({batch.tokens(), width});
}

}  // namespace quench::decoder
