// Causal self-attention over the rows of a batch.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/decoder/batch.hpp"

namespace quench::decoder {

// What a family's attention has beside softmax(q kᵀ / sqrt(D)) v.
struct AttentionForm {
  double scale = 0.0;  // of q kᵀ; 0: 1 / sqrt(D)
  double cap = 0.0;    // a score s becomes cap * tanh(s / cap); 0: it stays
  // A token sees the keys less than `window` positions before it; 0: all. One that pads and attends
  // sees all, too.
  int64_t window = 0;
};

// softmax(q kᵀ / sqrt(D)) v, per head, of
//   q [B,T,H,D], k and v [B,T,K,D] with K dividing H (each key head serves H/K query heads);
// the innermost stride must be 1. Returns [B*T, H*D], contiguous.
//
// A token sees itself and the earlier tokens of its row that are in segment 0 or in its own
// segment. No other token sees segment -1 (padding). Padding sees itself, so that its values, which
// mean nothing, stay finite. Scores never exist as one [B,H,T,T] tensor. A row whose segments are
// not plain consecutive documents costs one [T,T] mask at a time.
//
// In the composed modes of an AutogradScope all scores and all their derivatives exist, and so they
// do with a cap in kDoubleBackward and on a GPU. In kDoubleBackward without a mask, the softmax and
// one derivative of it exist. Rows longer than the window cost one mask, as above.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Batch& batch,
                  const AttentionForm& form = {});

}  // namespace quench::decoder
