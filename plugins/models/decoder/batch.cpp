#include "models/decoder/batch.hpp"

#include <string>

#include "quench/abi/kind/model.h"
#include "quench/kit/tensor.hpp"

namespace quench::decoder {

namespace {

// The int32 [rows, length] array behind `tensor`.
std::span<const int32_t> table(const quench_tensor& tensor, int64_t rows, int64_t length,
                               const char* what) {
  if (tensor.dimensions != 2 || tensor.shape[0] != rows || tensor.shape[1] != length) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: shape %s, wanted [%lld, %lld]", what,
              kit::shape_text(kit::shape_of(tensor)).c_str(), static_cast<long long>(rows),
              static_cast<long long>(length));
  }
  return kit::elements<int32_t>(tensor, what);
}

void check_range(std::span<const int32_t> values, int64_t length, int64_t limit, const char* what) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= limit) {
      const auto at = static_cast<int64_t>(i);
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: row %lld, column %lld: got %d, wanted 0..%lld", what,
                static_cast<long long>(at / length), static_cast<long long>(at % length), values[i],
                static_cast<long long>(limit - 1));
    }
  }
}

// A pad that attends needs text before it: its softmax would be empty otherwise.
void check_pads(std::span<const int32_t> segments, int64_t length) {
  bool text = false;
  for (size_t i = 0; i < segments.size(); ++i) {
    const auto column = static_cast<int64_t>(i) % length;
    text = (text && column > 0) || segments[i] == 0;
    if (segments[i] == QUENCH_SEGMENT_ATTENDING_PADDING && !text) {
      kit::fail(QUENCH_INVALID_ARGUMENT,
                "batch: segments: row %lld, column %lld: a pad that attends has no text before it",
                static_cast<long long>(i) / static_cast<long long>(length),
                static_cast<long long>(column));
    }
  }
}

}  // namespace

Batch::Batch(const quench_batch* batch, int64_t max_positions) : given_(batch) {
  kit::expects(batch != nullptr && batch->tokens != nullptr, "batch: no tokens");
  kit::expects(batch->flags == 0, "batch: unknown flags");
  kit::expects(batch->tokens->dimensions == 2, "batch: tokens: wanted two dimensions, [B, T]");
  rows_ = batch->tokens->shape[0];
  length_ = batch->tokens->shape[1];
  kit::expects(rows_ > 0 && length_ > 0, "batch: tokens: no rows or no columns");
  ids_ = table(*batch->tokens, rows_, length_, "batch: tokens");
  if (batch->positions != nullptr) {
    positions_ = table(*batch->positions, rows_, length_, "batch: positions");
    check_range(positions_, length_, max_positions, "batch: positions");
  } else if (length_ > max_positions) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "batch: rows of %lld tokens, the model has %lld positions",
              static_cast<long long>(length_), static_cast<long long>(max_positions));
  }
  if (batch->segments != nullptr) {
    segments_ = table(*batch->segments, rows_, length_, "batch: segments");
    check_pads(segments_, length_);
  }
}

void Batch::check_ids(int64_t vocabulary) const {
  check_range(ids_, length_, vocabulary, "batch: token ids");
}

}  // namespace quench::decoder
