#include "core/plugin/model_handle.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/plugin/instance.hpp"

namespace quench {

ModelHandle ModelHandle::open(Catalog& catalog, const PluginDescription& description,
                              const quench_model_open_args& args) {
  const auto* table = load_table<quench_model_table>(catalog, description);
  quench_model* model = nullptr;
  work_call(plugin_label(description), "open", {}, table->open, &args, &model);
  if (model == nullptr) {
    fail(QUENCH_INTERNAL, "{}: open succeeded without a model", plugin_label(description));
  }
  ModelHandle handle(description.id, table, model, Liveness(catalog, description));
  const quench_device device = handle.info().device;
  if (device.type != QUENCH_DEVICE_CPU &&
      (!handle.has_own_memory() || table->release == nullptr || table->copy == nullptr)) {
    fail(QUENCH_UNSUPPORTED, "{}: on cuda:{}, without memory there that this process can copy",
         handle.label(), device.index);
  }
  handle.copies_ = DeviceCopies(handle.label(), table, model, device);
  return handle;
}

ModelHandle::ModelHandle(std::string id, const quench_model_table* table, quench_model* model,
                         Liveness alive)
    : id_(std::move(id)), label_("model " + id_), table_(table), model_(model), alive_(alive) {}

ModelHandle::~ModelHandle() {
  copies_ = {};
  if (model_ != nullptr) {
    const PluginCall call(label_.c_str(), "close");
    table_->close(model_);
  }
}

ModelHandle::ModelHandle(ModelHandle&& other) noexcept
    : id_(std::move(other.id_)),
      label_(std::move(other.label_)),
      table_(other.table_),
      model_(std::exchange(other.model_, nullptr)),
      ops_(std::move(other.ops_)),
      alive_(other.alive_),
      copies_(std::move(other.copies_)) {}

ModelHandle& ModelHandle::operator=(ModelHandle&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(label_, other.label_);
  std::swap(table_, other.table_);
  std::swap(model_, other.model_);
  std::swap(ops_, other.ops_);
  std::swap(alive_, other.alive_);
  std::swap(copies_, other.copies_);
  return *this;
}

quench_model_info ModelHandle::info() const {
  quench_model_info info{};
  info.struct_size = sizeof info;
  table_call(label_, "info", table_->info, model_, &info);
  return info;
}

std::span<const quench_parameter_info> ModelHandle::parameters() const {
  const quench_parameter_info* parameters = nullptr;
  uint64_t count = 0;
  table_call(label_, "parameters", table_->parameters, model_, &parameters, &count);
  if (parameters == nullptr && count != 0) {
    fail(QUENCH_INTERNAL, "{}: {} parameters at NULL", label_, count);
  }
  return {parameters, count};
}

const quench_block_info& ModelHandle::block(uint32_t block) const {
  const quench_block_info* info = nullptr;
  table_call(label_, "block", table_->block, model_, block, &info);
  if (info == nullptr || info->struct_size < sizeof(quench_block_info)) {
    fail(QUENCH_INTERNAL, "{}: block {} has no description", label_, block);
  }
  return *info;
}

std::span<const quench_carry_info> ModelHandle::carry(uint32_t block, uint32_t stage) const {
  const quench_carry_info* tensors = nullptr;
  uint32_t count = 0;
  table_call(label_, "carry", table_->carry, model_, block, stage, &tensors, &count);
  if (tensors == nullptr || count == 0) {
    fail(QUENCH_INTERNAL, "{}: nothing enters stage {} of block {}", label_, stage, block);
  }
  return {tensors, count};
}

void* ModelHandle::allocate(uint64_t bytes) {
  void* memory = nullptr;
  if (table_->allocate != nullptr) {
    table_call(label_, "allocate", table_->allocate, model_, bytes, &memory);
  }
  return memory;
}

void ModelHandle::release(void* memory) {
  if (table_->release != nullptr && memory != nullptr) {
    const PluginCall call(label_.c_str(), "release");
    table_->release(model_, memory);
  }
}

void ModelHandle::copy(const quench_tensor& from, const quench_tensor& to, void* stream) {
  if (table_->copy == nullptr) {
    fail(QUENCH_UNSUPPORTED, "{}: has no memory of its own to copy to", label_);
  }
  pin(from);
  pin(to);
  table_call(label_, "copy", table_->copy, model_, &from, &to, stream);
}

void ModelHandle::embed(const quench_embed_args& args) {
  work_call(label_, "embed", {}, table_->embed, model_, &args);
}

void ModelHandle::stage(const quench_stage_args& args) {
  work_call(label_, "stage", {nullptr, args.block}, table_->stage, model_, &args);
}

void ModelHandle::token_nll(const quench_head_args& args) {
  work_call(label_, "token_nll", {}, table_->token_nll, model_, &args);
}

void ModelHandle::logits(const quench_tensor& h, const quench_tensor& logits, void* stream) {
  work_call(label_, "logits", {}, table_->logits, model_, &h, &logits, stream);
}

void ModelHandle::weight_get(const std::string& name, const quench_tensor& destination) const {
  pin(destination);
  table_call(label_, "weight_get", table_->weight_get, model_, name.c_str(), &destination);
}

void ModelHandle::weight_set(const std::string& name, const quench_tensor& value) {
  pin(value);
  table_call(label_, "weight_set", table_->weight_set, model_, name.c_str(), &value);
}

uint64_t ModelHandle::weight_generation(const std::string& name) const {
  uint64_t generation = 0;
  table_call(label_, "weight_generation", table_->weight_generation, model_, name.c_str(),
             &generation);
  return generation;
}

void ModelHandle::set_linear_op(uint32_t block, uint32_t group, uint32_t linear,
                                const quench_linear_op* op) {
  table_call(label_, "set_linear_op", table_->set_linear_op, model_, block, group, linear, op);
  if (op != nullptr) {
    ops_.insert({block, group, linear});
  } else {
    ops_.erase({block, group, linear});
  }
}

uint32_t ModelHandle::token_wise_from(uint32_t block) const {
  const uint32_t stages = this->block(block).stage_count;
  const auto first = ops_.lower_bound({block, 0, 0});
  const bool replaced = first != ops_.end() && (*first)[0] == block;
  return table_->token_wise_from == nullptr || replaced
             ? stages
             : std::min(stages, guarded_call(label_, "token_wise_from", {}, table_->token_wise_from,
                                             model_, block));
}

uint32_t ModelHandle::features() const {
  return table_->features != nullptr
             ? guarded_call(label_, "features", {}, table_->features, model_)
             : 0;
}

void ModelHandle::head_rows(const quench_tensor& h, const quench_tensor& x) {
  if (table_->head_rows == nullptr) {
    fail(QUENCH_UNSUPPORTED, "{}: does not show the rows that its output head reads", label_);
  }
  work_call(label_, "head_rows", {}, table_->head_rows, model_, &h, &x, nullptr);
}

const quench_residual_info& ModelHandle::residual() const {
  const quench_residual_info* info = nullptr;
  if (table_->residual == nullptr) {
    fail(QUENCH_UNSUPPORTED, "{}: does not say where its residual stream is written and read",
         label_);
  }
  table_call(label_, "residual", table_->residual, model_, &info);
  if (info == nullptr) {
    fail(QUENCH_INTERNAL, "{}: its residual stream has no description", label_);
  }
  return *info;
}

double ModelHandle::product_rate(uint32_t flags) {
  if (table_->product_rate == nullptr) {
    fail(QUENCH_UNSUPPORTED, "{}: does not measure products", label_);
  }
  double rate = 0;
  work_call(label_, "product_rate", {}, table_->product_rate, model_, flags, &rate);
  return rate;
}

const void* ModelHandle::extension(const char* id) const {
  return table_->extension == nullptr
             ? nullptr
             : guarded_call(label_, "extension", {}, table_->extension, model_, id);
}

}  // namespace quench
