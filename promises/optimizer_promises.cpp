// What every optimizer must do, whatever its rule.
#include <cmath>
#include <cstdio>

#include "promises/candidate.hpp"
#include "promises/kinds.hpp"
#include "promises/tensors.hpp"
#include "quench/abi/kind/optimizer.h"

namespace quench::promises {

namespace {

// The loss Σ w³, whose evaluation number `left` is cancelled.
struct Cubes {
  int left;
  static quench_status evaluate(void* context, const quench_tensor* weights,
                                const quench_tensor* gradient, double* loss,
                                quench_error* error) noexcept {
    if (static_cast<Cubes*>(context)->left-- == 0) {
      error->code = QUENCH_CANCELLED;
      std::snprintf(error->message, sizeof error->message, "asked to stop");
      return QUENCH_CANCELLED;
    }
    return kit::guard(error, [&] {
      const auto w = kit::elements<float>(*weights, "weights");
      const auto g = kit::elements<float>(*gradient, "gradient");
      *loss = 0;
      for (size_t i = 0; i < w.size(); ++i) {
        *loss += static_cast<double>(w[i]) * w[i] * w[i];
        g[i] = 3 * w[i] * w[i];
      }
    });
  }
};

// An optimizer of one matrix [4,6], stepped with gradients that depend on the step alone.
class Stepper {
 public:
  explicit Stepper(Candidate& candidate)
      : table_(table_of<quench_optimizer_table>(candidate)),
        weight_(tensor<float>({4, 6}, numbers<float>(1, 24))) {
    const std::string json = complete(candidate, {});
    ok("create", table_.create(json.data(), json.size(), &optimizer_, &error_));
    static const int64_t kShape[] = {4, 6};
    const quench_parameter_info info = {
        sizeof info, QUENCH_ROLE_MATRIX, "some.weight", 2, kShape, 0, 0, nullptr};
    ok("begin", table_.begin(optimizer_, &info, 1, {QUENCH_DEVICE_CPU, 0}, &error_));
  }
  ~Stepper() {
    if (optimizer_ != nullptr) {
      table_.destroy(optimizer_);
    }
  }
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  void step(uint64_t number, double lr) {
    const std::vector<float> given = numbers<float>(100 + number, 24);
    auto gradient = tensor<float>({4, 6}, given);
    const quench_tensor weight = weight_.view();
    const quench_tensor gradient_view = gradient.view();
    const quench_step_args args = {sizeof args,    0,       0, number, lr, lr, 1, &weight,
                                   &gradient_view, nullptr, 1};
    ok("step", table_.step(optimizer_, &args, &error_));
    for (const float value : weight_.values()) {
      expect(std::isfinite(value), "step {}: a weight is {}", number, value);
    }
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
      ok("state_info", status);
      expect(info.name != nullptr, "state_info: state {} has no name", index);
      quench_tensor view{
          nullptr, {QUENCH_DEVICE_CPU, 0}, info.dimensions, info.dtype, info.shape, nullptr, 0};
      std::string bytes(static_cast<size_t>(kit::elements_of(view) * kit::bytes_of(view.dtype)),
                        '\0');
      if (from != nullptr) {
        expect(index < from->size() && from->at(index).size() == bytes.size(),
               "state_info: state {} has another size than when it was saved", info.name);
        bytes = from->at(index);
        view.data = bytes.data();
        ok("state_set", table_.state_set(optimizer_, index, &view, &error_));
        bytes.assign(bytes.size(), '\1');
      }
      view.data = bytes.data();
      ok("state_get", table_.state_get(optimizer_, index, &view, &error_));
      all.push_back(std::move(bytes));
    }
  }
  std::vector<float>& weight() { return weight_.values(); }

  void need_closure() const {
    if (table_.gradient == nullptr) {
      skip("it takes its gradients as they come");
    }
  }
  // The gradient for step `number` of Cubes, whose evaluation number `fails` is cancelled.
  quench_status gradient(uint64_t number, std::vector<float>& out, int fails = -1) {
    Cubes cubes{fails};
    const quench_closure with = {sizeof with, &cubes, Cubes::evaluate};
    auto at = tensor<float>({24}, weight_.values());
    auto to = tensor<float>({24}, numbers<float>(7, 24));
    const quench_tensor at_view = at.view();
    const quench_tensor to_view = to.view();
    const quench_closure_args args = {sizeof args, 0, number, &at_view, &with, &to_view};
    const quench_status status = table_.gradient(optimizer_, &args, &error_);
    expect_same("the weights", at.values(), weight_.values(), "after gradient");
    out = to.values();
    return status;
  }
  std::string message() const { return error_.message; }
  void ok(const char* function, quench_status status) {
    expect(status == QUENCH_OK, "{}: got the error \"{}\"", function, error_.message);
  }

 private:
  const quench_optimizer_table& table_;
  quench_optimizer* optimizer_ = nullptr;
  kit::OwnedTensor<float> weight_;
  quench_error error_{sizeof error_, 0, {}};
};

void weights_move(Candidate& candidate) {
  Stepper stepper(candidate);
  const std::vector<float> before = stepper.weight();
  stepper.step(1, 0.0);
  expect_same("the weight", stepper.weight(), before, "after a step at a learning rate of 0");
  stepper.step(2, 0.01);
  expect(stepper.weight() != before, "the weight is the same after a step at 0.01");
}

void it_goes_on_from_its_state(Candidate& candidate) {
  Stepper straight(candidate);
  Stepper broken_off(candidate);
  for (uint64_t s = 1; s <= 3; ++s) {
    straight.step(s, 0.01);
    broken_off.step(s, 0.01);
  }
  expect_same("the weight", broken_off.weight(), straight.weight(), "in a second instance");
  const std::vector<std::string> saved = broken_off.state();
  Stepper resumed(candidate);
  resumed.weight() = broken_off.weight();
  expect(resumed.state(&saved) == saved, "state_get gives something else than state_set was given");
  for (uint64_t s = 4; s <= 6; ++s) {
    straight.step(s, 0.01);
    resumed.step(s, 0.01);
  }
  expect_same("the weight", resumed.weight(), straight.weight(), "from a saved state");
  expect(resumed.state() == straight.state(), "the state is another one from a saved state");
}

void threads_do_not_matter(Candidate& candidate) {
  const auto stepped = [&](uint32_t threads) {
    candidate.set_threads(threads);
    Stepper stepper(candidate);
    stepper.step(1, 0.01);
    stepper.step(2, 0.01);
    return stepper.weight();
  };
  const std::vector<float> one = stepped(1);
  expect_same("the weight", stepped(3), one, "on 3 threads");
  candidate.set_threads(1);
}

void a_step_has_one_gradient(Candidate& candidate) {
  Stepper stepper(candidate);
  stepper.need_closure();
  stepper.step(1, 0.01);
  const std::vector<std::string> before = stepper.state();
  std::vector<float> first;
  std::vector<float> second;
  stepper.ok("gradient", stepper.gradient(2, first));
  stepper.ok("gradient", stepper.gradient(2, second));
  expect_same("the gradient", second, first, "the second time");
  expect(first != numbers<float>(7, 24), "the gradient is not written");
  expect(stepper.state() == before, "gradient changes the state");
}

void a_failed_closure_is_passed_on(Candidate& candidate) {
  Stepper stepper(candidate);
  stepper.need_closure();
  std::vector<float> gradient;
  int evaluation = 0;
  while (stepper.gradient(1, gradient, evaluation) == QUENCH_CANCELLED) {
    expect(stepper.message().find("asked to stop") != std::string::npos,
           "got the error \"{}\", wanted that of the closure", stepper.message());
    expect(++evaluation < 100, "evaluates 100 times, each of them failed");
  }
  expect(evaluation >= 1, "gradient does not evaluate, or does not pass on the failure");
}

constexpr Promise kPromises[] = {
    {"weights move, and not at a learning rate of zero", weights_move, true},
    {"it goes on bit for bit from its saved state", it_goes_on_from_its_state},
    {"the number of threads changes nothing", threads_do_not_matter},
    {"a step has one gradient, and asking leaves the state", a_step_has_one_gradient},
    {"the failure of a closure is passed on, whichever evaluation it is",
     a_failed_closure_is_passed_on},
};

}  // namespace

std::span<const Promise> optimizer_promises() {
  return kPromises;
}

}  // namespace quench::promises
