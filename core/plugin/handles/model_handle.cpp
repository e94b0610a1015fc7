#include "core/plugin/handles/model_handle.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/plugin/handles/instance.hpp"
#include "core/plugin/services/heard_warnings.hpp"

namespace quench {

ModelHandle ModelHandle::open(Catalog& catalog, const PluginDescription& description,
                              const quench_model_open_args& args) {
  // The config of a model that is drawn was written for it, so what nobody knows is a mistake.
  const HeardWarnings heard((args.flags & QUENCH_OPEN_INITIALIZE) != 0
                                ? HeardWarnings::Fate::kRefused
                                : HeardWarnings::Fate::kShown);
  ModelHandle handle(
      description.id,
      Model::make<&quench_model_table::open>(
          plugin_label(description), load_table<quench_model_table>(catalog, description), &args),
      Liveness(catalog, description));
  heard.check();
  const quench_device device = handle.info().device;
  if (device.type != QUENCH_DEVICE_CPU &&
      (!handle.has_own_memory() || !handle.model_.has<&quench_model_table::release>() ||
       !handle.model_.has<&quench_model_table::copy>())) {
    fail(QUENCH_UNSUPPORTED, "{}: on cuda:{}, without memory there that this process can copy",
         handle.label(), device.index);
  }
  handle.copies_ = DeviceCopies(handle.label(), &handle.table(), handle.get(), device);
  return handle;
}

ModelHandle::ModelHandle(std::string id, Model model, Liveness alive)
    : id_(std::move(id)), model_(std::move(model)), alive_(alive) {}

quench_model_info ModelHandle::info() const {
  quench_model_info info{};
  info.struct_size = sizeof info;
  model_.call<&quench_model_table::info>(&info);
  return info;
}

std::span<const quench_parameter_info> ModelHandle::parameters() const {
  const quench_parameter_info* parameters = nullptr;
  uint64_t count = 0;
  model_.call<&quench_model_table::parameters>(&parameters, &count);
  if (parameters == nullptr && count != 0) {
    fail(QUENCH_INTERNAL, "{}: {} parameters at NULL", label(), count);
  }
  return {parameters, count};
}

const quench_block_info& ModelHandle::block(uint32_t block) const {
  const quench_block_info* info = nullptr;
  model_.call<&quench_model_table::block>(block, &info);
  if (info == nullptr || info->struct_size < sizeof(quench_block_info)) {
    fail(QUENCH_INTERNAL, "{}: block {} has no description", label(), block);
  }
  return *info;
}

std::span<const quench_carry_info> ModelHandle::carry(uint32_t block, uint32_t stage) const {
  const quench_carry_info* tensors = nullptr;
  uint32_t count = 0;
  model_.call<&quench_model_table::carry>(block, stage, &tensors, &count);
  if (tensors == nullptr || count == 0) {
    fail(QUENCH_INTERNAL, "{}: nothing enters stage {} of block {}", label(), stage, block);
  }
  return {tensors, count};
}

void* ModelHandle::allocate(uint64_t bytes) {
  void* memory = nullptr;
  if (has_own_memory()) {
    model_.call<&quench_model_table::allocate>(bytes, &memory);
  }
  return memory;
}

void ModelHandle::release(void* memory) {
  if (model_.has<&quench_model_table::release>() && memory != nullptr) {
    model_.call<&quench_model_table::release>(memory);
  }
}

void ModelHandle::copy(const quench_tensor& from, const quench_tensor& to, void* stream) {
  pin(from);
  pin(to);
  model_.call<&quench_model_table::copy>(&from, &to, stream);
}

void ModelHandle::embed(const quench_embed_args& args) {
  model_.call<&quench_model_table::embed>(&args);
}

void ModelHandle::stage(const quench_stage_args& args) {
  model_.call_at<&quench_model_table::stage>({nullptr, args.block}, &args);
}

void ModelHandle::token_nll(const quench_head_args& args) {
  model_.call<&quench_model_table::token_nll>(&args);
}

void ModelHandle::logits(const quench_tensor& h, const quench_tensor& logits, void* stream) {
  model_.call<&quench_model_table::logits>(&h, &logits, stream);
}

void ModelHandle::weight_get(const std::string& name, const quench_tensor& destination) const {
  pin(destination);
  model_.call<&quench_model_table::weight_get>(name.c_str(), &destination);
}

void ModelHandle::weight_set(const std::string& name, const quench_tensor& value) {
  pin(value);
  model_.call<&quench_model_table::weight_set>(name.c_str(), &value);
}

uint64_t ModelHandle::weight_generation(const std::string& name) const {
  uint64_t generation = 0;
  model_.call<&quench_model_table::weight_generation>(name.c_str(), &generation);
  return generation;
}

void ModelHandle::set_linear_op(uint32_t block, uint32_t group, uint32_t linear,
                                const quench_linear_op* op) {
  model_.call<&quench_model_table::set_linear_op>(block, group, linear, op);
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
  return replaced ? stages
                  : std::min(stages,
                             model_.call_or<&quench_model_table::token_wise_from>(stages, block));
}

uint32_t ModelHandle::features() const {
  return model_.call_or<&quench_model_table::features>(0u);
}

void ModelHandle::head_rows(const quench_tensor& h, const quench_tensor& x) {
  model_.call<&quench_model_table::head_rows>(&h, &x, nullptr);
}

const quench_residual_info& ModelHandle::residual() const {
  const quench_residual_info* info = nullptr;
  model_.call<&quench_model_table::residual>(&info);
  if (info == nullptr) {
    fail(QUENCH_INTERNAL, "{}: its residual stream has no description", label());
  }
  return *info;
}

double ModelHandle::product_rate(uint32_t flags) {
  double rate = 0;
  model_.call<&quench_model_table::product_rate>(flags, &rate);
  return rate;
}

void ModelHandle::set_cache_op(uint32_t block, const quench_cache_op* op) {
  model_.call_at<&quench_model_table::set_cache_op>({nullptr, block}, block, op);
}

double ModelHandle::block_gradient(const quench_block_gradient_args& args) {
  for (uint32_t i = 0; i < args.weight_count; ++i) {
    pin(args.gradients[i]);
  }
  double loss = 0;
  model_.call_at<&quench_model_table::block_gradient>({nullptr, args.block}, &args, &loss);
  return loss;
}

const void* ModelHandle::extension(const char* id) const {
  return model_.call_or<&quench_model_table::extension>(static_cast<const void*>(nullptr), id);
}

}  // namespace quench
