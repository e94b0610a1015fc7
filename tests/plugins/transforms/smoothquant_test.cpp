// One group behind a norm, by hand.
#include <catch2/catch.hpp>
#include <map>

#include "quench/abi/module.h"
#include "quench/kit/transform.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// A model of one block with one linear [2, 2] behind a norm, or behind nothing.
class TinyModel {
 public:
  explicit TinyModel(bool foldable) {
    values_ = {{"norm", {1, 2}}, {"linear.weight", {1, -4, 0.5, 2}}};
    group_.struct_size = sizeof group_;
    group_.rows = -1;
    group_.expert = -1;
    group_.linear_count = 1;
    group_.linears = &linear_;
    group_.site_count = foldable ? 1 : 0;
    group_.sites = &site_;
    editor_.struct_size = sizeof editor_;
    editor_.context = this;
    editor_.info = &info_;
    editor_.blocks = &blocks_;
    editor_.parameter_count = 2;
    editor_.parameters = parameters_;
    editor_.get = [](void* context, const char* name, const quench_tensor* to,
                     quench_error*) noexcept -> quench_status {
      kit::from_doubles(self(context).values_.at(name), *to, name);
      return QUENCH_OK;
    };
    editor_.set = [](void* context, const char* name, const quench_tensor* value,
                     quench_error*) noexcept -> quench_status {
      self(context).values_[name] = kit::to_doubles(*value, name);
      return QUENCH_OK;
    };
    editor_.change = [](void* context, const char* name, const char* how,
                        quench_error*) noexcept -> quench_status {
      self(context).change_ = std::string(name) + " " + how;
      return QUENCH_OK;
    };
    editor_.divide_inputs = [](void* context, uint32_t, uint32_t, const quench_tensor* scale,
                               quench_error*) noexcept -> quench_status {
      self(context).divided_ = kit::to_doubles(*scale, "scale");
      return QUENCH_OK;
    };
  }
  TinyModel(const TinyModel&) = delete;
  TinyModel& operator=(const TinyModel&) = delete;

  // Shows rows whose largest magnitudes are 9 and 1, and applies the transform.
  std::string smooth(const std::string& parameters) {
    const quench_item& item = *quench_module_v1()->items[0];
    const auto& table = *static_cast<const quench_transform_table*>(item.table);
    quench_transform* transform = nullptr;
    quench_error error{sizeof error, 0, {}};
    if (table.create(parameters.data(), parameters.size(), &transform, &error) != QUENCH_OK) {
      return error.message;
    }
    kit::OwnedTensor<float> rows({2, 2});
    rows.values() = {9, -0.5F, -3, 1};
    const quench_tensor x = rows.view();
    const quench_group_args group{sizeof group, 0, 0, 0, &group_, 2, {QUENCH_DEVICE_CPU, 0}};
    const quench_observe_args args{sizeof args, 0, &x, nullptr, nullptr, nullptr, nullptr};
    quench_status status = table.observe(transform, &group, &args, &error);
    status = status == QUENCH_OK ? table.apply(transform, &editor_, &error) : status;
    table.destroy(transform);
    return status == QUENCH_OK ? "" : error.message;
  }

  const std::vector<double>& value(const std::string& name) const { return values_.at(name); }
  const std::vector<double>& divided() const { return divided_; }
  const std::string& change() const { return change_; }

 private:
  static TinyModel& self(void* context) { return *static_cast<TinyModel*>(context); }

  const int64_t width_[1] = {2};
  const int64_t shape_[2] = {2, 2};
  const quench_parameter_info parameters_[2] = {
      {sizeof(quench_parameter_info), QUENCH_ROLE_NORM, "norm", 1, width_, 0, 0, nullptr},
      {sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, "linear.weight", 2, shape_, 2, 0,
       nullptr}};
  const quench_linear_info linear_{
      sizeof(quench_linear_info), 0, "linear", "up", "linear.weight", nullptr, 2, 2};
  const quench_scale_site site_{sizeof(quench_scale_site), "norm", nullptr};
  quench_group_info group_{};
  const quench_block_info block_{sizeof(quench_block_info), 2, 1, &group_};
  const quench_block_info* blocks_ = &block_;
  const quench_model_info info_{sizeof(quench_model_info), 1, 2, 2, 2, kit::kFloat32, {}};
  quench_model_editor editor_{};
  std::map<std::string, std::vector<double>> values_;
  std::vector<double> divided_;
  std::string change_;
};

}  // namespace

// Largest inputs 9 and 1, largest weights 1 and 4: s = sqrt(9 / 1) = 3 and sqrt(1 / 4) = 0.5.
TEST_CASE("smoothquant folds the paper's scale", "[transforms][smoothquant]") {
  TinyModel model(true);
  CHECK(model.smooth("{}") == "");
  CHECK(model.change() == "linear folded");
  CHECK(model.value("norm") == std::vector<double>{1.0 / 3, 4});
  CHECK(model.value("linear.weight") == std::vector<double>{3, -2, 1.5, 1});
}

TEST_CASE("smoothquant leaves explicit what nothing absorbs, or leaves it alone",
          "[transforms][smoothquant]") {
  TinyModel explicitly(false);
  CHECK(explicitly.smooth("{}") == "");
  CHECK(explicitly.change() == "linear explicit");
  CHECK(explicitly.divided() == std::vector<double>{3, 0.5});
  CHECK(explicitly.value("linear.weight") == std::vector<double>{1, -4, 0.5, 2});
  TinyModel skipped(false);
  CHECK(skipped.smooth(R"({"unfoldable":"skip"})") == "");
  CHECK(skipped.change() == "linear skipped: no preceding weight can absorb it");
  CHECK(skipped.divided().empty());
}

TEST_CASE("smoothquant with alpha 1 makes every channel of the inputs equally large",
          "[transforms][smoothquant]") {
  TinyModel model(true);
  CHECK(model.smooth(R"({"alpha":1})") == "");
  CHECK(model.value("norm") == std::vector<double>{1.0 / 9, 2});
}

}  // namespace quench::test
