#include "models/mamba/predecessors.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <span>
#include <unordered_map>

#include "quench/abi/kind/model.h"
#include "quench/kit/error.hpp"

namespace quench::mamba {

namespace {

// The tokens before those of one row.
void read_row(std::span<const int32_t> segments, int64_t row, int32_t* before) {
  std::unordered_map<int32_t, int32_t> latest;  // token of each segment
  bool branched = false;                        // whether a segment other than the prefix has begun
  for (size_t t = 0; t < segments.size(); ++t) {
    const int32_t own = segments[t];
    before[t] = -1;
    if (own < 0) {
      continue;
    }
    if (own == 0 && branched) {
      kit::fail(QUENCH_UNSUPPORTED,
                "batch: segments: row %lld, column %zu: a shared prefix goes on behind another "
                "segment",
                static_cast<long long>(row), t);
    }
    branched = branched || own > 0;
    if (const auto same = latest.find(own); same != latest.end()) {
      before[t] = same->second;
    } else if (const auto prefix = latest.find(0); prefix != latest.end()) {
      before[t] = prefix->second;
    }
    latest[own] = static_cast<int32_t>(t);
  }
}

}  // namespace

Predecessors::Predecessors(const decoder::Batch& batch, at::Device device)
    : rows_(batch.rows()),
      length_(batch.length()),
      before_(static_cast<size_t>(batch.tokens())),
      places_(static_cast<size_t>(batch.tokens()), -1) {
  const at::Tensor indices = at::empty({batch.tokens()}, at::TensorOptions(at::kLong));
  auto* index = indices.mutable_data_ptr<int64_t>();
  std::vector<int64_t> reach(static_cast<size_t>(length_));  // tokens that lead to each, with it
  const auto length = static_cast<size_t>(length_);
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t first = row * length_;
    int32_t* before = before_.data() + first;
    if (batch.segments().empty()) {
      for (size_t t = 0; t < length; ++t) {
        before[t] = static_cast<int32_t>(t) - 1;
      }
    } else {
      read_row(batch.segments().subspan(static_cast<size_t>(first), length), row, before);
    }
    int32_t kept = 0;
    for (size_t t = 0; t < length; ++t) {
      const int32_t from = before[t];
      index[first + static_cast<int64_t>(t)] = from < 0 ? batch.tokens() : first + from;
      reach[t] = from < 0 ? 1 : reach[static_cast<size_t>(from)] + 1;
      longest_ = std::max(longest_, reach[t]);
      if (from >= 0 && from != static_cast<int32_t>(t) - 1 &&
          places_[static_cast<size_t>(first + from)] < 0) {
        places_[static_cast<size_t>(first + from)] = kept++;
      }
    }
    place_count_ = std::max<int64_t>(place_count_, kept);
  }
  indices_ = indices.to(device);
  const auto pads = [](int32_t segment) { return segment == QUENCH_SEGMENT_ATTENDING_PADDING; };
  if (std::any_of(batch.segments().begin(), batch.segments().end(), pads)) {
    for (const int32_t segment : batch.segments()) {
      silent_.push_back(pads(segment) ? 1 : 0);
    }
  }
}

at::Tensor Predecessors::audible(const at::Tensor& x) const {
  if (silent_.empty()) {
    return {};
  }
  const at::Tensor factor = at::empty({tokens(), 1}, at::TensorOptions(at::kDouble));
  auto* to = factor.mutable_data_ptr<double>();
  for (size_t t = 0; t < silent_.size(); ++t) {
    to[t] = silent_[t] != 0 ? 0.0 : 1.0;
  }
  return factor.to(x.device(), x.scalar_type());
}

at::Tensor Predecessors::shifted(const at::Tensor& x) const {
  const at::Tensor none = at::zeros({1, x.size(1)}, x.options());
  return at::index_select(at::cat({x, none}), 0, indices_);
}

at::Tensor Predecessors::gathered_back(const at::Tensor& x) const {
  const at::Tensor sums = at::zeros({tokens() + 1, x.size(1)}, x.options());
  return sums.index_add(0, indices_, x).narrow(0, 0, tokens());
}

}  // namespace quench::mamba
