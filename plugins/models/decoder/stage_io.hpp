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

// Either the host's tensors, borrowed for one call, or the tensors of a recorded forward, where
// every output is a new tensor.
class StageIo {
 public:
  // Throws INVALID_ARGUMENT that names the tensor if one does not match the plan's carries.
  StageIo(const quench_stage_args& args, const BlockPlan& plan, const Batch& batch,
          at::Device device);
  // For a recorded forward: `in` enters the stage, and `outputs` tensors leave it.
  StageIo(std::vector<at::Tensor> in, size_t outputs) : in_(std::move(in)), out_(outputs) {}

  // Outside of a forward that is recorded for derivatives: tensors of a recording (recorded.hpp).
  StageIo(std::vector<at::Tensor> in, std::vector<at::Tensor> out)
      : in_(std::move(in)), out_(std::move(out)) {}

  const std::vector<at::Tensor>& all_in() const { return in_; }
  const at::Tensor& in(size_t i) const { return in_[i]; }
  // The host's memory for output i or, in a recorded forward, the tensor put there.
  const at::Tensor& out(size_t i) const { return out_[i]; }

  // A place where out(i) can be computed while every in(j) is still needed: out(i) itself, or new
  // memory if the host gave out(i) the storage of an in(j). Pass it to `put` in either case.
  // Undefined in a recorded forward.
  at::Tensor scratch(size_t i) const;

  // linear(x), computed in scratch(i) if there is one. Pass the result to `put`.
  at::Tensor apply(size_t i, const Linear& linear, const at::Tensor& x) const;

  // Makes out(i) equal to `value`; does not copy if it is already there or the forward is recorded.
  void put(size_t i, const at::Tensor& value) const;
  // Makes out(i) equal to a + b.
  void put_sum(size_t i, const at::Tensor& a, const at::Tensor& b) const;

  // The outputs of a recorded forward.
  std::vector<at::Tensor> taken() const { return out_; }

 private:
  std::vector<at::Tensor> in_;
  mutable std::vector<at::Tensor> out_;
};

// Borrows a [rows, width] tensor of this dtype and device in C order; throws INVALID_ARGUMENT that
// names it if it is anything else.
at::Tensor borrow_rows(const quench_tensor* view, int64_t rows, int64_t width, quench_dtype dtype,
                       at::Device device, const char* what);

}  // namespace quench::decoder
