// What every optimizer must do, whatever its rule.
#include <catch2/catch.hpp>

#include "quench/abi/kind/optimizer.h"
#include "tests/contract/tensors.hpp"
#include "tests/support/plugin_library.hpp"

namespace quench::test {

namespace {

// An optimizer of one matrix [4,6], stepped with gradients that depend on the step alone.
class Stepper {
 public:
  explicit Stepper(const quench_item& item)
      : table_(table_of<quench_optimizer_table>(item)),
        weight_(tensor<float>({4, 6}, numbers<float>(1, 24))) {
    const std::string json = complete_parameters(item, {});
    REQUIRE(table_.create(json.data(), json.size(), &optimizer_, &error_) == QUENCH_OK);
    static const int64_t kShape[] = {4, 6};
    const quench_parameter_info info = {
        sizeof info, QUENCH_ROLE_MATRIX, "some.weight", 2, kShape, 0, 0, nullptr};
    REQUIRE(table_.begin(optimizer_, &info, 1, {QUENCH_DEVICE_CPU, 0}, &error_) == QUENCH_OK);
  }
  ~Stepper() { table_.destroy(optimizer_); }

  void step(uint64_t number, double lr) {
    auto gradient = tensor<float>({4, 6}, numbers<float>(100 + number, 24));
    const quench_tensor weight = weight_.view();
    const quench_tensor gradient_view = gradient.view();
    const quench_step_args args = {sizeof args,    0,       0, number, lr, lr, 1, &weight,
                                   &gradient_view, nullptr, 1};
    INFO(error_.message);
    REQUIRE(table_.step(optimizer_, &args, &error_) == QUENCH_OK);
  }
  // All state tensors' bytes, or, with `from`, writes them.
  std::vector<std::string> state(const std::vector<std::string>* from = nullptr) {
    std::vector<std::string> all;
    for (uint64_t index = 0;; ++index) {
      quench_state_info info{sizeof info, nullptr, {}, 0, nullptr};
      const quench_status status = table_.state_info(optimizer_, index, &info, &error_);
      if (status == QUENCH_END) {
        return all;
      }
      REQUIRE(status == QUENCH_OK);
      REQUIRE(info.name != nullptr);
      quench_tensor view{
          nullptr, {QUENCH_DEVICE_CPU, 0}, info.dimensions, info.dtype, info.shape, nullptr, 0};
      std::string bytes(static_cast<size_t>(kit::elements_of(view) * kit::bytes_of(view.dtype)),
                        '\0');
      if (from != nullptr) {
        REQUIRE(from->at(index).size() == bytes.size());
        bytes = from->at(index);
        view.data = bytes.data();
        REQUIRE(table_.state_set(optimizer_, index, &view, &error_) == QUENCH_OK);
        bytes.assign(bytes.size(), '\1');
      }
      view.data = bytes.data();
      REQUIRE(table_.state_get(optimizer_, index, &view, &error_) == QUENCH_OK);
      all.push_back(std::move(bytes));
    }
  }
  std::vector<float>& weight() { return weight_.values(); }

 private:
  const quench_optimizer_table& table_;
  quench_optimizer* optimizer_ = nullptr;
  kit::OwnedTensor<float> weight_;
  quench_error error_{sizeof error_, 0, {}};
};

template <typename Check>
void for_each_optimizer(Check check) {
  for (const quench_item* item : items_of(OPTIMIZER_LIBRARIES, "optimizer")) {
    DYNAMIC_SECTION(item->id) {
      check(*item);
    }
  }
}

}  // namespace

TEST_CASE("every optimizer goes on bit for bit from its saved state", "[contract][optimizers]") {
  for_each_optimizer([](const quench_item& item) {
    Stepper straight(item);
    Stepper broken_off(item);
    for (uint64_t s = 1; s <= 3; ++s) {
      straight.step(s, 0.01);
      broken_off.step(s, 0.01);
    }
    const std::vector<std::string> saved = broken_off.state();
    Stepper resumed(item);
    resumed.weight() = broken_off.weight();
    resumed.state(&saved);
    for (uint64_t s = 4; s <= 6; ++s) {
      straight.step(s, 0.01);
      resumed.step(s, 0.01);
    }
    CHECK(resumed.weight() == straight.weight());
    CHECK(resumed.state() == straight.state());
  });
}

TEST_CASE("every optimizer moves the weights, and not at a learning rate of zero",
          "[contract][optimizers]") {
  for_each_optimizer([](const quench_item& item) {
    Stepper stepper(item);
    const std::vector<float> before = stepper.weight();
    stepper.step(1, 0.0);
    CHECK(stepper.weight() == before);
    stepper.step(2, 0.01);
    CHECK(stepper.weight() != before);
  });
}

}  // namespace quench::test
