#include "models/decoder/attention.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace quench::decoder {

namespace {

// [B,T,H,D] -> [B,T,H,D]; `mask` is boolean [T,T], true where a query (row) sees a key (column), or
// nothing: causal.
at::Tensor fused(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const std::optional<at::Tensor>& mask) {
  const bool grouped = q.size(2) != k.size(2);
  return at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                          mask, /*dropout_p=*/0.0, /*is_causal=*/!mask.has_value(),
                                          /*scale=*/std::nullopt, grouped)
      .transpose(1, 2);
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
  at::Tensor out = at::empty({q.size(0), q.size(1), q.size(2), q.size(3)}, q.options());
  const auto length = static_cast<size_t>(batch.length());
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const auto segments = batch.segments().subspan(static_cast<size_t>(row) * length, length);
    const auto part = [row](const at::Tensor& whole, Run run) {
      return whole.narrow(0, row, 1).narrow(1, run.first, run.second - run.first);
    };
    const Run all{0, batch.length()};
    if (const auto runs = documents(segments)) {
      for (const Run& run : *runs) {
        part(out, run).copy_(fused(part(q, run), part(k, run), part(v, run), std::nullopt));
      }
    } else {
      part(out, all).copy_(
          fused(part(q, all), part(k, all), part(v, all), visible(segments, q.device())));
    }
  }
  return out.view({batch.tokens(), width});
}

}  // namespace quench::decoder
