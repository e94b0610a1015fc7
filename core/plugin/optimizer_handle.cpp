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

std::vector<std::pair<std::string, quench_tensor>> OptimizerHandle::state() {
  std::vector<std::pair<std::string, quench_tensor>> out;
  for (uint64_t index = 0; index < kMostStateTensors; ++index) {
    const char* name = nullptr;
    quench_tensor view{};
    quench_error error{sizeof(quench_error), 0, {}};
    const quench_status status =
        guarded_call(label_, "state", {}, table_->state, optimizer_, index, &name, &view, &error);
    if (status == QUENCH_END) {
      return out;
    }
    if (status != QUENCH_OK) {
      throw_status(label_, "state", status, error);
    }
    if (name == nullptr || view.data == nullptr || view.device.type != QUENCH_DEVICE_CPU) {
      fail(QUENCH_INTERNAL, "{}: state tensor {} has no name or no host memory", label_, index);
    }
    out.emplace_back(name, view);
  }
  fail(QUENCH_INTERNAL, "{}: its state has no end", label_);
}

}  // namespace quench
