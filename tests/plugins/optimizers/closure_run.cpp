#include "tests/plugins/optimizers/closure_run.hpp"

#include <catch2/catch.hpp>

#include "quench/kit/tensor.hpp"
#include "tests/plugins/optimizers/optimizer_library.hpp"
#include "tests/support/plugin_library.hpp"

namespace quench::test {

ClosureRun::ClosureRun(const std::string& id, const nlohmann::json& parameters,
                       std::vector<NamedTensor> tensors, LossFunction loss)
    : tensors_(std::move(tensors)), loss_(std::move(loss)) {
  const quench_item& item = plugin_item(library_of(id), "optimizer");
  table_ = &table_of<quench_optimizer_table>(item);
  const std::string json = complete_parameters(item, parameters);
  quench_error error{sizeof error, 0, {}};
  REQUIRE(table_->create(json.data(), json.size(), &optimizer_, &error) == QUENCH_OK);
  std::vector<quench_parameter_info> infos;
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors_) {
    const auto dimensions = static_cast<int32_t>(tensor.shape.size());
    infos.push_back({sizeof(quench_parameter_info), tensor.role, tensor.name, dimensions,
                     tensor.shape.data(), offset, 0, nullptr});
    uint64_t elements = 1;
    for (const int64_t size : tensor.shape) {
      elements *= static_cast<uint64_t>(size);
    }
    offset += elements;
  }
  REQUIRE(table_->begin(optimizer_, infos.data(), infos.size(), {QUENCH_DEVICE_CPU, 0}, &error) ==
          QUENCH_OK);
}

ClosureRun::~ClosureRun() {
  table_->destroy(optimizer_);
}

quench_status ClosureRun::evaluate(void* context, const quench_tensor* weights,
                                   const quench_tensor* gradient, double* loss,
                                   quench_error*) noexcept {
  auto& self = *static_cast<ClosureRun*>(context);
  const auto at = kit::elements<float>(*weights, "weights");
  const auto to = kit::elements<float>(*gradient, "gradient");
  self.points_.emplace_back(at.begin(), at.end());
  std::vector<double> values(at.size());
  *loss = self.loss_(self.points_.back(), values);
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<float>(values[i]);
  }
  return QUENCH_OK;
}

std::vector<float> ClosureRun::gradient(uint64_t step, const std::vector<float>& weights) {
  points_.clear();
  REQUIRE(table_->gradient != nullptr);
  const auto size = static_cast<int64_t>(weights.size());
  kit::OwnedTensor<float> at({size});
  kit::OwnedTensor<float> to({size});
  at.values() = weights;
  const quench_tensor at_view = at.view();
  const quench_tensor to_view = to.view();
  const quench_closure closure = {sizeof closure, this, evaluate};
  const quench_closure_args args = {sizeof args, 0, step, &at_view, &closure, &to_view};
  quench_error error{sizeof error, 0, {}};
  const quench_status status = table_->gradient(optimizer_, &args, &error);
  INFO(error.message);
  REQUIRE(status == QUENCH_OK);
  REQUIRE(at.values() == weights);
  return to.values();
}

}  // namespace quench::test
