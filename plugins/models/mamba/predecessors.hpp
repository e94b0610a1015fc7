// Which token's state each token of a batch continues.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <cstdint>
#include <vector>

#include "models/decoder/batch.hpp"

namespace quench::mamba {

// A token continues the state of the latest token that it sees: the one before it in its segment,
// or the end of the shared prefix at the head of an alternative. A document, a row and padding
// start without a state.
class Predecessors : public torch::CustomClassHolder {
 public:
  // For tensors on `device`. Throws UNSUPPORTED for a shared prefix that goes on after another
  // segment: later tokens would see both, and no one state holds what they see.
  Predecessors(const decoder::Batch& batch, at::Device device);

  int64_t rows() const { return rows_; }      // B
  int64_t length() const { return length_; }  // T
  int64_t tokens() const { return rows_ * length_; }

  // [B*T]: the token's place within its row, or -1 without a state to continue.
  const int32_t* before(int64_t row) const { return before_.data() + row * length_; }
  // [B*T]: where a state is kept that another than the next token continues; -1 elsewhere. The
  // places of a row are numbered from 0.
  const int32_t* places(int64_t row) const { return places_.data() + row * length_; }
  int64_t place_count() const { return place_count_; }  // the most of any row

  // [N], int64 on the device: the token before within the batch, or N.
  const at::Tensor& indices() const { return indices_; }
  // The most tokens of which each continues the one before it.
  int64_t longest() const { return longest_; }

  // [B*T]: 1 for a token without an input (a pad that attends), 0 elsewhere; empty if there is
  // none. It sees the state before it and not itself.
  const std::vector<uint8_t>& silent() const { return silent_; }
  // The factor [N, 1] of the inputs in x's type; undefined if no token is silent.
  at::Tensor audible(const at::Tensor& x) const;

  // Row t of the result is the row of x [N, M] that belongs to the token before t, or 0.
  at::Tensor shifted(const at::Tensor& x) const;
  // Its transpose: row t of the result is the sum of the rows of x that belong to the tokens behind
  // t.
  at::Tensor gathered_back(const at::Tensor& x) const;

 private:
  int64_t rows_;
  int64_t length_;
  std::vector<int32_t> before_;
  std::vector<int32_t> places_;
  int64_t place_count_ = 0;
  int64_t longest_ = 0;
  std::vector<uint8_t> silent_;
  at::Tensor indices_;
};

using SharedPredecessors = c10::intrusive_ptr<Predecessors>;

}  // namespace quench::mamba
