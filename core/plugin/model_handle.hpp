// An open model of a plugin. Every call throws quench::Error whose message starts with
// "model <id>: ". Pointers that come back are the model's own and valid until the handle goes.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/plugin/catalog.hpp"
#include "quench/abi/extension/head.h"
#include "quench/abi/kind/model.h"

namespace quench {

class ModelHandle {
 public:
  static ModelHandle open(Catalog& catalog, const PluginDescription& description,
                          const quench_model_open_args& args);
  ~ModelHandle();
  ModelHandle(ModelHandle&& other) noexcept;
  ModelHandle& operator=(ModelHandle&& other) noexcept;
  ModelHandle(const ModelHandle&) = delete;
  ModelHandle& operator=(const ModelHandle&) = delete;

  const std::string& id() const { return id_; }
  const std::string& label() const { return label_; }  // "model <id>"
  const quench_model_table& table() const { return *table_; }
  quench_model* get() const { return model_; }

  quench_model_info info() const;
  std::span<const quench_parameter_info> parameters() const;
  const quench_block_info& block(uint32_t block) const;
  std::span<const quench_carry_info> carry(uint32_t block, uint32_t stage) const;

  // Device memory; `allocate` gives nullptr for a family that runs in host memory.
  bool has_own_memory() const { return table_->allocate != nullptr; }
  void* allocate(uint64_t bytes);
  void release(void* memory);
  void copy(const quench_tensor& from, const quench_tensor& to, void* stream = nullptr);

  void embed(const quench_embed_args& args);
  void stage(const quench_stage_args& args);
  void token_nll(const quench_head_args& args);
  void logits(const quench_tensor& h, const quench_tensor& logits, void* stream = nullptr);

  void weight_get(const std::string& name, const quench_tensor& destination) const;
  void weight_set(const std::string& name, const quench_tensor& value);
  uint64_t weight_generation(const std::string& name) const;
  // nullptr restores the weight; else the model takes the op over.
  void set_linear_op(uint32_t block, uint32_t group, uint32_t linear, const quench_linear_op* op);
  // The first stage of `block` that can be run on some of the tokens alone, with the same result
  // for those (extension/token_wise.h); stage_count where there is none, and where an op stands in
  // place of one of the block's linears, since what an op makes of a row may depend on the others.
  uint32_t token_wise_from(uint32_t block) const;

  // The rows that the output head reads (extension/head.h); `table` is this model's extension.
  void head_rows(const quench_model_head_rows& table, const quench_tensor& h,
                 const quench_tensor& x);

  // A table of extension/ or of a third party, or nullptr.
  const void* extension(const char* id) const;

 private:
  ModelHandle(std::string id, const quench_model_table* table, quench_model* model);

  std::string id_;
  std::string label_;
  const quench_model_table* table_ = nullptr;
  quench_model* model_ = nullptr;
  std::set<std::array<uint32_t, 3>> ops_;  // block, group, linear
};

// Throws Error(NOT_FOUND) with the way to give one when there is no config; `where` is its path.
void require_config(std::string_view config_json, const std::string& where);

// The family for this config.json. Those that come with the program are asked first, and the best
// probe score among them decides; only where none fits are strangers asked, in a child process, so
// that a library that merely lies on the search path neither runs here nor takes a model from a
// family that opened it before. Who wants a stranger for such a config names it. `where` (the
// config's path) begins the message of the Error(UNSUPPORTED) that is thrown when none fits: it has
// the config's model_type, the nearest family and what each family said.
const PluginDescription& choose_family(Catalog& catalog, std::string_view config_json,
                                       const std::string& where);

}  // namespace quench
