// What decoder language models have in common. A family adds which weights there are, which stages
// a block has, and what each stage computes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/decoder/attention.hpp"
#include "models/decoder/batch.hpp"
#include "models/decoder/block_plan.hpp"
#include "models/decoder/cache_op.hpp"
#include "models/decoder/device.hpp"
#include "models/decoder/linear.hpp"
#include "models/decoder/recorded.hpp"
#include "models/decoder/residual.hpp"
#include "models/decoder/stage_io.hpp"
#include "models/decoder/weights.hpp"
#include "quench/abi/extension/gradients.h"
#include "quench/kit/model.hpp"

namespace quench::decoder {

// What a family derives from the config of one model.
struct Architecture {
  int64_t width;
  int64_t vocabulary;
  int64_t max_positions;
  std::vector<WeightSpec> weights;  // in the order of the flat parameter vector
  std::vector<BlockSpec> blocks;
  std::string embedding;               // name of the token embedding [vocabulary, width]
  std::string head;                    // name of the output head [vocabulary, width]
  double embedding_scale = 1.0;        // multiplies what the embedding gives, in the model's dtype
  std::vector<std::string> ignorable;  // endings of buffer names in old files, skipped
  // Standard deviation of initial matrices and embeddings; 0: this config has none.
  double initializer_range = 0.0;
  ResidualSpec residual = {{}, {}, "does not say which weights write and read its residual stream"};
};

class Curvature;
class CurvatureByBlock;
class LossBatch;
class ResidentCurvature;

class Decoder : public kit::Model {
 public:
  static constexpr bool kHasDeviceMemory = true;  // allocate, release and copy are here

  // Loads the weights or, with QUENCH_OPEN_INITIALIZE, draws them. Throws whatever Weights and
  // usable_device throw.
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
  const quench_residual_info& residual() const final { return residual_.info(); }
  void head_rows(const quench_tensor& h, const quench_tensor& x, void* stream) final;
  uint32_t features() const final { return QUENCH_MODEL_TAKES_ATTENDING_PADDING; }
  uint32_t token_wise_from(uint32_t block) const final;
  double product_rate(uint32_t flags) final;

  void weight_get(const std::string& name, const quench_tensor& destination) final;
  void weight_set(const std::string& name, const quench_tensor& value) final;
  uint64_t weight_generation(const std::string& name) const final {
    return weights_.generation(name);
  }
  void set_linear_op(uint32_t block, uint32_t group, uint32_t linear,
                     const quench_linear_op* op) final;
  void set_cache_op(uint32_t block, const quench_cache_op* op) final;
  double block_gradient(const quench_block_gradient_args& args) final;
  // Σ nll of a batch. Adds to the flat `gradient` if that is not null, as quench.model.grad/1
  // requires.
  double gradient(const quench_loss_args& args, const quench_tensor* gradient);
  // The loss of a batch, expanded around the current weights (quench.model.hvp/1); `kind` is a
  // QUENCH_CURVATURE_*.
  std::unique_ptr<Curvature> curvature(const quench_loss_args& args, int32_t kind,
                                       const quench_tensor* gradient);
  // quench.model.device_memory/1.
  DeviceMemory& device_memory() { return memory_; }
  // quench.model.vectors/1.
  void fill(double value, const quench_tensor& to) const;
  void combine(std::span<const quench_tensor> vectors, const double* coefficients,
               const quench_tensor& to) const;
  double inner_product(const quench_tensor& a, const quench_tensor& b) const;
  // quench.model.shared_weights/1.
  void share_weights(const quench_tensor& vector);
  // quench.model.grad/1, hvp/1, vectors/1, shared_weights/1, device_memory/1.
  const void* extension(const char* id) const override;

 protected:
  // Fills every io.out from io.in, as the block's carries describe. Implemented with the operations
  // of this folder, so that it can be differentiated.
  virtual void run_stage(const StageIo& io, uint32_t block, uint32_t stage, const Batch& batch) = 0;
  // Norm before the output head, [R, width] -> [R, width].
  virtual at::Tensor final_norm(const at::Tensor& h) const = 0;
  // The logits, from what the output head makes [R, vocabulary]; overwrites it unless an
  // AutogradScope exists. Losses, logits and all derivatives go through it.
  virtual at::Tensor after_head(at::Tensor product) const { return product; }

  const at::Tensor& weight(const std::string& name) const { return weights_.at(name); }
  // Linear `linear` of group `group`, in the order of the block's spec.
  const Linear& linear(uint32_t block, uint32_t group, uint32_t linear = 0) const {
    return linears_[block][group][linear];
  }
  // The attention of a block that `attends`: decoder::attend, with keys and values as the op of the
  // block leaves them, if it has one.
  at::Tensor attend(uint32_t block, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const Batch& batch, const AttentionForm& form = {}) const;
  at::ScalarType dtype() const { return dtype_; }
  at::Device device() const { return device_; }

 private:
  friend class CurvatureByBlock;
  friend class ResidentCurvature;

  // One block, which then is on the device, inside an AutogradScope: h [N, width] -> [N, width].
  at::Tensor recorded_block(const Batch& batch, uint32_t block, at::Tensor h);
  // From rows of the embedding through all blocks and the final norm, likewise.
  at::Tensor recorded_forward(const Batch& batch, at::Tensor rows);
  // What enters the first block, from rows of the embedding. Applied to a derivative it gives the
  // derivative by the rows.
  at::Tensor embedded(const at::Tensor& rows) const;
  // The logits of rows that left the final norm, inside an AutogradScope.
  at::Tensor recorded_logits(const at::Tensor& x) const { return after_head(head_(x)); }
  // Computes final norm and head: h [R, width] -> `to` [R, vocabulary].
  void write_logits(const at::Tensor& h, const at::Tensor& to) const;
  // `gradient` of a model that comes block by block; `to`, the flat vector, may be undefined.
  double gradient_by_block(const LossBatch& given, double weight, bool autocast,
                           const at::Tensor& to);
  // Tells the device forward and backward, and gives the losses: adds `weight` times the gradient
  // to `vector`, on the model's device.
  LossSum add_gradient(const Batch& batch, const at::Tensor& ids, const ScoredTargets& targets,
                       const at::Tensor& vector, double weight, bool autocast);
  // Element type of flat vectors over all parameters.
  at::ScalarType vector_type() const;
  // Whether a linear or the cache of the block has an op, or of any block.
  bool is_replaced(uint32_t block) const;
  bool is_replaced() const;
  // Whether the view lies on the model's device; of a processor's model, whether in host memory.
  bool is_on_device(const quench_tensor& view) const;
  // Throws INVALID_ARGUMENT that names `what` if `view` is no such vector, in host memory or on the
  // model's device.
  at::Tensor borrow_vector(const quench_tensor& view, const char* what) const;
  // A flat vector on the model's device, or a range of one, of `elements` (any number: < 0). Throws
  // likewise.
  at::Tensor borrow_range(const quench_tensor& view, int64_t elements, const char* what) const;
  // The part of a flat vector that belongs to a parameter, as a view.
  at::Tensor parameter_of(const at::Tensor& vector, size_t parameter) const;

  quench_model_info info_{};
  at::ScalarType dtype_;
  at::Device device_;
  Weights weights_;
  at::Tensor embedding_;
  double embedding_scale_;
  Linear head_;
  std::vector<std::unique_ptr<BlockPlan>> plans_;
  std::vector<std::vector<std::vector<Linear>>> linears_;  // [block][group][linear]
  std::vector<CacheOp> cache_ops_;                         // [block]
  ResidualPlan residual_;
  DeviceMemory memory_;
  RecordedStep recorded_step_;
  RecordedStages recorded_stages_;
};

}  // namespace quench::decoder
