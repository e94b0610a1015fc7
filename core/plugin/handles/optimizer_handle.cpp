#include "core/plugin/handles/optimizer_handle.hpp"

#include "core/checkpoint/dtype.hpp"
#include "core/plugin/handles/instance.hpp"

namespace quench {

namespace {

constexpr uint64_t kMostStateTensors = uint64_t{1} << 24;

}  // namespace

OptimizerHandle::OptimizerHandle(Catalog& catalog, const PluginDescription& description,
                                 const nlohmann::json& parameters)
    : optimizer_(make_instance<&quench_optimizer_table::create, &quench_optimizer_table::destroy>(
          catalog, description, parameters)) {}

void OptimizerHandle::begin(std::span<const quench_parameter_info> tensors, quench_device device) {
  optimizer_.call<&quench_optimizer_table::begin>(tensors.data(), tensors.size(), device);
}

namespace {

// The closure as a plugin calls it.
struct ClosureCall {
  const std::string& label;
  const OptimizerHandle::Evaluate& evaluate;
  int64_t parameters;
  quench_device device;
  uint64_t evaluations = 0;
  Thrown thrown = {};

  static quench_status call(void* context, const quench_tensor* weights,
                            const quench_tensor* gradient, double* loss,
                            quench_error* error) noexcept {
    auto& self = *static_cast<ClosureCall*>(context);
    return self.thrown.keep(error, [&] {
      const quench_tensor at = self.vector_of(weights, "weights");
      const quench_tensor to = self.vector_of(gradient, "gradient");
      *loss = self.evaluate(at, to);
      ++self.evaluations;
    });
  }

  bool is_there(quench_device where) const {
    return where.type == device.type &&
           (device.type == QUENCH_DEVICE_CPU || where.index == device.index);
  }
  // A checked view whose elements begin at its data.
  quench_tensor vector_of(const quench_tensor* view, const char* what) const {
    const bool fits = view != nullptr && view->data != nullptr && is_there(view->device) &&
                      view->dimensions == 1 && view->shape[0] == parameters &&
                      view->dtype.code == kFloat32.code && view->dtype.bits == kFloat32.bits &&
                      (view->strides == nullptr || view->strides[0] == 1);
    if (!fits) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: closure: {}: wanted float32 [{}] in {}", label, what,
           parameters, device.type == QUENCH_DEVICE_CPU ? "host memory" : "the device's memory");
    }
    quench_tensor out = *view;
    out.data = static_cast<std::byte*>(view->data) + view->byte_offset;
    out.byte_offset = 0;
    return out;
  }
};

}  // namespace

void OptimizerHandle::gradient(uint64_t step, const quench_tensor& weights,
                               const Evaluate& evaluate, const quench_tensor& gradient) {
  ClosureCall call{label(), evaluate, weights.shape[0], weights.device};
  const quench_closure closure = {sizeof closure, &call, ClosureCall::call};
  const quench_closure_args args = {sizeof args, 0, step, &weights, &closure, &gradient};
  quench_error error{sizeof error, 0, {}};
  const quench_status status = optimizer_.call<&quench_optimizer_table::gradient>(&args, &error);
  call.thrown.rethrow_or(label(), "gradient", status, error);
  if (call.evaluations == 0) {
    fail(QUENCH_INTERNAL, "{}: made a gradient without evaluating the batch", label());
  }
}

void OptimizerHandle::step(std::span<const quench_step_args> tensors) {
  for (const quench_step_args& args : tensors) {
    optimizer_.call<&quench_optimizer_table::step>(&args);
  }
}

void OptimizerHandle::evaluation_weights(uint64_t tensor, const quench_tensor& stepped,
                                         const quench_tensor& evaluated) {
  optimizer_.call<&quench_optimizer_table::evaluation_weights>(tensor, &stepped, &evaluated);
}

std::vector<TensorInfo> OptimizerHandle::state() {
  std::vector<TensorInfo> out;
  for (uint64_t index = 0; index < kMostStateTensors; ++index) {
    quench_state_info info{sizeof info, nullptr, {}, 0, nullptr};
    quench_error error{sizeof(quench_error), 0, {}};
    const quench_status status =
        optimizer_.call<&quench_optimizer_table::state_info>(index, &info, &error);
    if (status == QUENCH_END) {
      return out;
    }
    if (status != QUENCH_OK) {
      throw_status(label(), "state_info", status, error);
    }
    const bool shaped = info.dimensions >= 0 && info.dimensions <= QUENCH_MAX_DIMENSIONS &&
                        (info.dimensions == 0 || info.shape != nullptr);
    if (info.name == nullptr || !shaped) {
      fail(QUENCH_INTERNAL, "{}: state tensor {} has no name or no shape", label(), index);
    }
    TensorInfo tensor{info.name, info.dtype, {info.shape, info.shape + info.dimensions}, index};
    if (!element_count(tensor.shape)) {
      fail(QUENCH_INTERNAL, "{}: state tensor {} has an impossible shape", label(), tensor.name);
    }
    out.push_back(std::move(tensor));
  }
  fail(QUENCH_INTERNAL, "{}: its state has no end", label());
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
  optimizer_.call<&quench_optimizer_table::state_get>(index, &view);
}

void OptimizerHandle::set_state(uint64_t index, const TensorInfo& info, const void* value) {
  const quench_tensor view = state_view(info, const_cast<void*>(value));
  optimizer_.call<&quench_optimizer_table::state_set>(index, &view);
}

}  // namespace quench
