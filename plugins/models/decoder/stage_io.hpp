// The tensors that enter and leave one stage of a block.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "models/decoder/batch.hpp"
#include "models/decoder/block_plan.hpp"

namespace quench::decoder {

// Borrows the host's tensors for the length of one call.
class StageIo {
 public:
  // Throws INVALID_ARGUMENT, naming the tensor, when one is not as the plan's carries say.
  StageIo(const quench_stage_args& args, const BlockPlan& plan, const Batch& batch,
          at::Device device);

  const at::Tensor& in(size_t i) const { return in_[i]; }
  const at::Tensor& out(size_t i) const { return out_[i]; }

  // Where out(i) can be computed while every in(j) is still needed: out(i) itself, or new memory
  // when the host gave it the storage of an in(j). To be handed to `put` in either case.
  at::Tensor scratch(size_t i) const;

  // Makes out(i) equal to `value`; no copy when it is there already.
  void put(size_t i, const at::Tensor& value) const;

 private:
  std::vector<at::Tensor> in_;
  std::vector<at::Tensor> out_;
};

// A borrowed [rows, width] tensor of that dtype and device in C order, or INVALID_ARGUMENT that
// names it.
at::Tensor borrow_rows(const quench_tensor* view, int64_t rows, int64_t width, quench_dtype dtype,
                       at::Device device, const char* what);

}  // namespace quench::decoder
