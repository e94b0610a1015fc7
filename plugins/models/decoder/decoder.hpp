// A decoder language model but for what makes its family: a family says which weights there are,
// which stages a block has, and what each stage computes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/decoder/batch.hpp"
#include "models/decoder/block_plan.hpp"
#include "models/decoder/device.hpp"
#include "models/decoder/linear.hpp"
#include "models/decoder/residual.hpp"
#include "models/decoder/stage_io.hpp"
#include "models/decoder/weights.hpp"
#include "quench/abi/extension/gradients.h"
#include "quench/kit/model.hpp"

namespace quench::decoder {

// What a family says of one model, from its config alone.
struct Architecture {
  int64_t width;
  int64_t vocabulary;
  int64_t max_positions;
  std::vector<WeightSpec> weights;  // in the order of the flat parameter vector
  std::vector<BlockSpec> blocks;
  std::string embedding;               // name of the token embedding [vocabulary, width]
  std::string head;                    // name of the output head [vocabulary, width]
  std::vector<std::string> ignorable;  // endings of names of buffers that old files have
  // Standard deviation of matrices and embeddings that are drawn; 0: this config does not say.
  double initializer_range = 0.0;
  ResidualSpec residual = {{}, {}, "does not say where its residual stream is written and read"};
};

class Curvature;

class Decoder : public kit::Model {
 public:
  // Loads or, with QUENCH_OPEN_INITIALIZE, draws the weights. Throws what Weights and usable_device
  // throw.
  Decoder(Architecture architecture, const quench_model_open_args& args);

  quench_model_info info() const final;
  std::span<const quench_parameter_info> parameters() const final { return weights_.parameters(); }
  const quench_block_info& block(uint32_t block) const final { return plans_[block]->info(); }
  std::span<const quench_carry_info> carry(uint32_t block, uint32_t stage) const final {
    return plans_[block]->carry(stage);
  }

  void* allocate(uint64_t bytes) final { return memory_.allocate(bytes); }
  void release(void* memory) final { memory_.release(memory); }
  void copy(const quench_tensor& from, const quench_tensor& to, void* stream) final;

  void embed(const quench_embed_args& args) final;
  void stage(const quench_stage_args& args) final;
  void token_nll(const quench_head_args& args) final;
  void logits(const quench_tensor& h, const quench_tensor& logits, void* stream) final;
  // UNSUPPORTED with the reason where no list can be given (quench.model.residual/1).
  const quench_residual_info& residual() const { return residual_.info(); }
  // The final norm of h, which is what the output head reads; both [R, width].
  void head_rows(const quench_tensor& h, const quench_tensor& x, void* stream) const;

  void weight_get(const std::string& name, const quench_tensor& destination) final;
  void weight_set(const std::string& name, const quench_tensor& value) final;
  uint64_t weight_generation(const std::string& name) const final {
    return weights_.generation(name);
  }
  void set_linear_op(uint32_t block, uint32_t group, uint32_t linear,
                     const quench_linear_op* op) final;
  // Σ nll of a batch; adds to the flat `gradient` where it is not null, as quench.model.grad/1 has
  // it.
  double gradient(const quench_loss_args& args, const quench_tensor* gradient);
  // The loss of a batch around the weights of the moment (quench.model.hvp/1); `kind` is a
  // QUENCH_CURVATURE_*.
  std::unique_ptr<Curvature> curvature(const quench_loss_args& args, int32_t kind,
                                       const quench_tensor* gradient);
  // quench.model.product_rate/1.
  double product_rate(bool bfloat16) const;
  // quench.model.token_wise/1.
  uint32_t token_wise_from(uint32_t block) const;
  // quench.model.head_rows/1, residual/1, grad/1, hvp/1, product_rate/1, token_wise/1.
  const void* extension(const char* id) const override;

 protected:
  // Fills every io.out from io.in, as the block's carries say. Written in the operations of this
  // folder, so that it serves as a recorded forward too.
  virtual void run_stage(const StageIo& io, uint32_t block, uint32_t stage, const Batch& batch) = 0;
  // Norm before the output head, [R, width] -> [R, width].
  virtual at::Tensor final_norm(const at::Tensor& h) const = 0;

  const at::Tensor& weight(const std::string& name) const { return weights_.at(name); }
  // Linear `linear` of group `group`, in the order of the block's spec.
  const Linear& linear(uint32_t block, uint32_t group, uint32_t linear = 0) const {
    return linears_[block][group][linear];
  }
  at::ScalarType dtype() const { return dtype_; }
  at::Device device() const { return device_; }

 private:
  friend class Curvature;

  // All blocks and the final norm: h [N, width] -> [N, width], where a AutogradScope is.
  at::Tensor recorded_forward(const Batch& batch, at::Tensor h);
  // Element type of flat vectors over all parameters.
  at::ScalarType vector_type() const;
  // INVALID_ARGUMENT, naming `what`, when it is no such vector.
  at::Tensor borrow_vector(const quench_tensor& view, const char* what) const;
  // The view of a parameter in a flat vector.
  at::Tensor parameter_of(const at::Tensor& vector, size_t parameter) const;

  quench_model_info info_{};
  at::ScalarType dtype_;
  at::Device device_;
  Weights weights_;
  at::Tensor embedding_;
  Linear head_;
  std::vector<std::unique_ptr<BlockPlan>> plans_;
  std::vector<std::vector<std::vector<Linear>>> linears_;  // [block][group][linear]
  ResidualPlan residual_;
  DeviceMemory memory_;
};

}  // namespace quench::decoder
