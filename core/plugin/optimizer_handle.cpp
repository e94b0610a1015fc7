#include "core/plugin/optimizer_handle.hpp"

#include "core/plugin/instance.hpp"

namespace quench {

namespace {

constexpr uint64_t kMostStateTensors = uint64_t{1} << 24;

}  // namespace

OptimizerHandle::OptimizerHandle(Catalog& catalog, const PluginDescription& description,
                                 const nlohmann::json& parameters)
    : label_(plugin_label(description)),
      table_(load_table<quench_optimizer_table>(catalog, description)),
      optimizer_(create_instance(label_, "create", table_->create, parameters)) {}

OptimizerHandle::~OptimizerHandle() {
  const PluginCall call(label_.c_str(), "destroy");
  table_->destroy(optimizer_);
}

void OptimizerHandle::begin(std::span<const quench_parameter_info> tensors, quench_device device) {
  work_call(label_, "begin", {}, table_->begin, optimizer_, tensors.data(),
            uint64_t{tensors.size()}, device);
}

void OptimizerHandle::step(const quench_step_args& args) {
  work_call(label_, "step", {}, table_->step, optimizer_, &args);
}

void OptimizerHandle::evaluation_weights(uint64_t tensor, const quench_tensor& stepped,
                                         const quench_tensor& evaluated) {
  table_call(label_, "evaluation_weights", table_->evaluation_weights, optimizer_, tensor, &stepped,
             &evaluated);
}

std::vector<TensorInfo> OptimizerHandle::state() {
  std::vector<TensorInfo> out;
  for (uint64_t index = 0; index < kMostStateTensors; ++index) {
    quench_state_info info{sizeof info, nullptr, {}, 0, nullptr};
    quench_error error{sizeof(quench_error), 0, {}};
    const quench_status status = guarded_call(label_, "state_info", {}, table_->state_info,
                                              optimizer_, index, &info, &error);
    if (status == QUENCH_END) {
      return out;
    }
    if (status != QUENCH_OK) {
      throw_status(label_, "state_info", status, error);
    }
    const bool shaped = info.dimensions >= 0 && info.dimensions <= QUENCH_MAX_DIMENSIONS &&
                        (info.dimensions == 0 || info.shape != nullptr);
    if (info.name == nullptr || !shaped) {
      fail(QUENCH_INTERNAL, "{}: state tensor {} has no name or no shape", label_, index);
    }
    TensorInfo tensor{info.name, info.dtype, {info.shape, info.shape + info.dimensions}, index};
    if (!element_count(tensor.shape)) {
      fail(QUENCH_INTERNAL, "{}: state tensor {} has an impossible shape", label_, tensor.name);
    }
    out.push_back(std::move(tensor));
  }
  fail(QUENCH_INTERNAL, "{}: its state has no end", label_);
}

namespace {

quench_tensor state_view(const TensorInfo& info, void* data) {
  return {data,       {QUENCH_DEVICE_CPU, 0}, static_cast<int32_t>(info.shape.size()),
          info.dtype, info.shape.data(),      nullptr,
          0};
}

}  // namespace

void OptimizerHandle::get_state(uint64_t index, const TensorInfo& info, void* destination) {
  const quench_tensor view = state_view(info, destination);
  table_call(label_, "state_get", table_->state_get, optimizer_, index, &view);
}

void OptimizerHandle::set_state(uint64_t index, const TensorInfo& info, const void* value) {
  const quench_tensor view = state_view(info, const_cast<void*>(value));
  table_call(label_, "state_set", table_->state_set, optimizer_, index, &view);
}

}  // namespace quench
