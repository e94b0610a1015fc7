// What every optimizer must do, whatever its rule.
#include <catch2/catch.hpp>
#include <cstdio>

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

  bool takes_closure() const { return table_.gradient != nullptr; }
  // The gradient for step `number` of the loss Σ w³, whose evaluation number `fails` is cancelled.
  quench_status gradient(uint64_t number, std::vector<float>& out, int fails = -1) {
    struct Cubes {
      int left;
      static quench_status evaluate(void* context, const quench_tensor* weights,
                                    const quench_tensor* gradient, double* loss,
                                    quench_error* error) noexcept {
        if (static_cast<Cubes*>(context)->left-- == 0) {
          return report(error);
        }
        const auto w = kit::elements<float>(*weights, "weights");
        const auto g = kit::elements<float>(*gradient, "gradient");
        *loss = 0;
        for (size_t i = 0; i < w.size(); ++i) {
          *loss += static_cast<double>(w[i]) * w[i] * w[i];
          g[i] = 3 * w[i] * w[i];
        }
        return QUENCH_OK;
      }
      static quench_status report(quench_error* error) noexcept {
        error->code = QUENCH_CANCELLED;
        std::snprintf(error->message, sizeof error->message, "asked to stop");
        return QUENCH_CANCELLED;
      }
    } cubes{fails};
    const quench_closure with = {sizeof with, &cubes, Cubes::evaluate};
    auto at = tensor<float>({24}, weight_.values());
    auto to = tensor<float>({24}, numbers<float>(7, 24));
    const quench_tensor at_view = at.view();
    const quench_tensor to_view = to.view();
    const quench_closure_args args = {sizeof args, 0, number, &at_view, &with, &to_view};
    const quench_status status = table_.gradient(optimizer_, &args, &error_);
    CHECK(at.values() == weight_.values());
    out = to.values();
    return status;
  }
  std::string message() const { return error_.message; }

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

TEST_CASE("every optimizer with a closure has one gradient for a step, and leaves its state",
          "[contract][optimizers]") {
  for_each_optimizer([](const quench_item& item) {
    Stepper stepper(item);
    if (!stepper.takes_closure()) {
      return;
    }
    stepper.step(1, 0.01);
    const std::vector<std::string> before = stepper.state();
    std::vector<float> first;
    std::vector<float> second;
    REQUIRE(stepper.gradient(2, first) == QUENCH_OK);
    REQUIRE(stepper.gradient(2, second) == QUENCH_OK);
    CHECK(first == second);
    CHECK(first != numbers<float>(7, 24));
    CHECK(stepper.state() == before);
  });
}

TEST_CASE("every optimizer with a closure passes on its failure, whichever evaluation it is",
          "[contract][optimizers]") {
  for_each_optimizer([](const quench_item& item) {
    Stepper stepper(item);
    if (!stepper.takes_closure()) {
      return;
    }
    std::vector<float> gradient;
    int evaluation = 0;
    while (stepper.gradient(1, gradient, evaluation) == QUENCH_CANCELLED) {
      CHECK(stepper.message() == "asked to stop");
      REQUIRE(++evaluation < 100);
    }
    CHECK(evaluation >= 1);
  });
}

}  // namespace quench::test
