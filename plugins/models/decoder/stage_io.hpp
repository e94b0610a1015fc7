// The tensors that enter and leave one stage of a block.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/batch.hpp"
#include "models/decoder/block_plan.hpp"
#include "models/decoder/linear.hpp"

namespace quench::decoder {

// Either the host's tensors, borrowed for the length of one call, or those of a recorded forward,
// where every output is a new tensor.
class StageIo {
 public:
  // Throws INVALID_ARGUMENT, naming the tensor, when one is not as the plan's carries say.
  StageIo(const quench_stage_args& args, const BlockPlan& plan, const Batch& batch,
          at::Device device);
  // Recorded: `in` enters the stage, `outputs` tensors leave it.
  StageIo(std::vector<at::Tensor> in, size_t outputs) : in_(std::move(in)), out_(outputs) {}

  const at::Tensor& in(size_t i) const { return in_[i]; }
  // The host's memory for it, or, recorded, what was put there.
  const at::Tensor& out(size_t i) const { return out_[i]; }

  // Where out(i) can be computed while every in(j) is still needed: out(i) itself, or new memory
  // when the host gave it the storage of an in(j). To be handed to `put` in either case. Undefined
  // when recorded.
  at::Tensor scratch(size_t i) const;

  // linear(x), in scratch(i) where there is one; for `put`.
  at::Tensor apply(size_t i, const Linear& linear, const at::Tensor& x) const;

  // Makes out(i) equal to `value`; no copy when it is there already, or recorded.
  void put(size_t i, const at::Tensor& value) const;
  // Makes out(i) equal to a + b.
  void put_sum(size_t i, const at::Tensor& a, const at::Tensor& b) const;

  // Recorded: what was put.
  std::vector<at::Tensor> taken() const { return out_; }

 private:
  std::vector<at::Tensor> in_;
  mutable std::vector<at::Tensor> out_;
};

// A borrowed [rows, width] tensor of that dtype and device in C order, or INVALID_ARGUMENT that
// names it.
at::Tensor borrow_rows(const quench_tensor* view, int64_t rows, int64_t width, quench_dtype dtype,
                       at::Device device, const char* what);

}  // namespace quench::decoder
