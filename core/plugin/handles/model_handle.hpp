// An open model of a plugin. Every call throws quench::Error whose message starts with "model <id>:
// ". Returned pointers belong to the model and are valid as long as the handle.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/plugin/handles/instance.hpp"
#include "core/plugin/handles/plugin_object.hpp"
#include "core/plugin/services/device_copies.hpp"
#include "quench/abi/kind/model.h"

namespace quench {

class ModelHandle {
 public:
  // Throws UNSUPPORTED for a family that says its model is on a device and offers no copies there,
  // such as one in a process of its own.
  static ModelHandle open(Catalog& catalog, const PluginDescription& description,
                          const quench_model_open_args& args);

  const std::string& id() const { return id_; }
  // False once the process in which it was opened has ended; every call then fails.
  bool is_alive() const { return static_cast<bool>(alive_); }
  const std::string& label() const { return model_.label(); }  // "model <id>"
  const quench_model_table& table() const { return model_.table(); }
  quench_model* get() const { return model_.get(); }

  quench_model_info info() const;
  std::span<const quench_parameter_info> parameters() const;
  const quench_block_info& block(uint32_t block) const;
  std::span<const quench_carry_info> carry(uint32_t block, uint32_t stage) const;

  // Device memory; `allocate` is nullptr for a family that runs in host memory.
  bool has_own_memory() const { return model_.has<&quench_model_table::allocate>(); }
  void* allocate(uint64_t bytes);
  void release(void* memory);
  void copy(const quench_tensor& from, const quench_tensor& to, void* stream = nullptr);
  // To be called before a function that is not of this class, such as one of an extension, gets a
  // tensor that may lie in memory of another process: no part of it is pinned, or all of it.
  void pin(const quench_tensor& tensor) const { copies_.pin(tensor); }

  void embed(const quench_embed_args& args);
  void stage(const quench_stage_args& args);
  void token_nll(const quench_head_args& args);
  void logits(const quench_tensor& h, const quench_tensor& logits, void* stream = nullptr);

  void weight_get(const std::string& name, const quench_tensor& destination) const;
  void weight_set(const std::string& name, const quench_tensor& value);
  uint64_t weight_generation(const std::string& name) const;
  // nullptr restores the weight; otherwise the model takes ownership of the op.
  void set_linear_op(uint32_t block, uint32_t group, uint32_t linear, const quench_linear_op* op);
  // The first stage of `block` that can run on some of the tokens alone with the same result for
  // them. stage_count if there is none, or if an op replaces one of the
  // block's linears, because an op's result for a row may depend on the other rows.
  uint32_t token_wise_from(uint32_t block) const;

  uint32_t features() const;  // QUENCH_MODEL_*
  // The rows that the output head reads. This and what follows throw UNSUPPORTED for a family that
  // does not have it.
  void head_rows(const quench_tensor& h, const quench_tensor& x);
  const quench_residual_info& residual() const;
  double product_rate(uint32_t flags);  // operations per second; flags: QUENCH_LOSS_*
  // nullptr takes the op out; otherwise the model takes ownership of it.
  void set_cache_op(uint32_t block, const quench_cache_op* op);
  double block_gradient(const quench_block_gradient_args& args);  // the loss

  // A table of extension/ or of a third party, or nullptr.
  const void* extension(const char* id) const;

 private:
  using Model = PluginObject<&quench_model_table::close>;
  ModelHandle(std::string id, Model model, Liveness alive);

  std::string id_;
  Model model_;
  std::set<std::array<uint32_t, 3>> ops_;  // block, group, linear
  Liveness alive_;
  DeviceCopies copies_;  // ends before the model does
};

}  // namespace quench
